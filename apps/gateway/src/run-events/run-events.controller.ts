import { type RouteInput, runEventRoutes } from '@caribou/contracts';
import { Controller } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { RunEventsService } from './run-events.service.js';

@Controller(API_ROOTS)
export class RunEventsController {
  constructor(private readonly events: RunEventsService) {}

  @Route(runEventRoutes.list)
  list(@Caller() { userId }: Principal, @Input() { params, query }: RouteInput<typeof runEventRoutes.list>) {
    return this.events.list({ userId, threadId: params.thread_id }, params.run_id, query);
  }
}
