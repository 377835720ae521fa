import { type BranchReply, branchRoutes, type RouteInput } from '@caribou/contracts';
import { Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../../auth/principal.js';
import { addQuota } from '../../http/rate-limit-headers.js';
import { addStoreWork } from '../../http/request-budget.js';
import { API_ROOTS, Caller, Input, Route } from '../../http/route.decorators.js';
import { BranchesService } from './branches.service.js';

@Controller(API_ROOTS)
export class BranchesController {
  constructor(private readonly branches: BranchesService) {}

  @Route(branchRoutes.create)
  create(
    @Caller() { userId }: Principal,
    @Input() { params, body }: RouteInput<typeof branchRoutes.create>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<BranchReply> {
    const title = body.title === '' ? undefined : (body.title ?? undefined);
    return this.branches.branch({ userId, threadId: params.thread_id }, body.message_id, {
      title,
      onCopied: ({ copiedBytes, threads }) => {
        addStoreWork(request, copiedBytes);
        addQuota(reply, threads);
      },
    });
  }
}
