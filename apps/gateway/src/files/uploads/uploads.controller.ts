import { Controller, Req } from '@nestjs/common';
import { fileRoutes, type RouteInput } from '@caribou/contracts';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../../http/route.decorators.js';
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
  upload(@Caller() caller: Principal, @Input() input: Of<'upload'>, @Req() request: FastifyRequest) {
    return this.uploads.upload(keyOf(caller, input), request);
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
