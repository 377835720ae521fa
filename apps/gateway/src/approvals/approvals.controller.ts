import { approvalRoutes, type RouteInput } from '@caribou/contracts';
import { Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { runJson } from '../runs/run-json.js';
import { startHeaders } from '../runs/start-headers.js';
import { ApprovalsService } from './approvals.service.js';

type Of<Name extends keyof typeof approvalRoutes> = RouteInput<(typeof approvalRoutes)[Name]>;

@Controller(API_ROOTS)
export class ApprovalsController {
  constructor(private readonly approvals: ApprovalsService) {}

  @Route(approvalRoutes.list)
  list(@Caller() caller: Principal, @Input() { query }: Of<'list'>) {
    return this.approvals.list(caller, query);
  }

  @Route(approvalRoutes.listOfThread)
  listOfThread(@Caller() caller: Principal, @Input() { params, query }: Of<'listOfThread'>) {
    return this.approvals.listOfThread(caller, { threadId: params.thread_id, userId: query.user_id });
  }

  @Route(approvalRoutes.decide)
  async decide(
    @Caller() caller: Principal,
    @Input() { params, query, body }: Of<'decide'>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const thread = { threadId: params.thread_id, userId: query.user_id };
    const answer = { interruptId: params.interrupt_id, body };
    return runJson(await this.approvals.decide(caller, { thread, answer, headers: startHeaders(request, reply) }));
  }
}
