import { Controller, Req } from '@nestjs/common';
import { fileRoutes, type RouteInput } from '@caribou/contracts';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../../http/route.decorators.js';
import { discardRest } from '../../http/discard-rest.js';
import { fileParts } from './multipart.js';
import { UploadsService } from './uploads.service.js';

type Of<Name extends keyof typeof fileRoutes> = RouteInput<(typeof fileRoutes)[Name]>;

const keyOf = (caller: Principal, { params }: { readonly params: { readonly thread_id: string } }) => ({
  userId: caller.userId,
  threadId: params.thread_id,
});

@Controller(API_ROOTS)
export class UploadsController {
  constructor(private readonly uploads: UploadsService) {}

  @Route(fileRoutes.upload)
  async upload(@Caller() caller: Principal, @Input() input: Of<'upload'>, @Req() request: FastifyRequest) {
    try {
      return await this.uploads.upload(keyOf(caller, input), fileParts(request, this.uploads.fileLimits()));
    } finally {
      discardRest(request, this.uploads.limits().max_total_size);
    }
  }

  @Route(fileRoutes.list)
  list(@Caller() caller: Principal, @Input() input: Of<'list'>) {
    return this.uploads.list(keyOf(caller, input));
  }

  @Route(fileRoutes.limits)
  limits() {
    return this.uploads.limits();
  }

  @Route(fileRoutes.remove)
  remove(@Caller() caller: Principal, @Input() input: Of<'remove'>) {
    return this.uploads.remove(keyOf(caller, input), input.params.filename);
  }
}
