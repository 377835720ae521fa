import { type RouteInput, runTraceRoutes } from '@caribou/contracts';
import { Controller } from '@nestjs/common';
import { assertMayRead, type Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { RunTracesService } from './run-traces.service.js';

type Of<Name extends keyof typeof runTraceRoutes> = RouteInput<(typeof runTraceRoutes)[Name]>;

interface OfThread {
  readonly params: { readonly thread_id: string };
  readonly query: { readonly user_id?: string | undefined };
}

/** The thread of the caller, or for an administrator that of the user who is named. @throws {NotFoundError} for other callers */
function keyOfOwner(caller: Principal, { params, query }: OfThread) {
  const { user_id: userId = caller.userId } = query;
  assertMayRead(caller, userId);
  return { userId, threadId: params.thread_id };
}

@Controller(API_ROOTS)
export class RunTracesController {
  constructor(private readonly traces: RunTracesService) {}

  @Route(runTraceRoutes.trace)
  async trace(@Caller() caller: Principal, @Input() input: Of<'trace'>) {
    const run = await this.traces.findRun(keyOfOwner(caller, input), input.params.run_id);
    return await this.traces.trace(run, input.query);
  }

  @Route(runTraceRoutes.request)
  async request(@Caller() caller: Principal, @Input() input: Of<'request'>) {
    const run = await this.traces.findRun(keyOfOwner(caller, input), input.params.run_id);
    return await this.traces.request(run, input.params.call, input.query);
  }

  @Route(runTraceRoutes.taskTrace)
  async taskTrace(@Caller() caller: Principal, @Input() input: Of<'taskTrace'>) {
    const task = await this.traces.findTask(keyOfOwner(caller, input), input.params.run_id, input.params.task_id);
    return await this.traces.trace(task, input.query);
  }

  @Route(runTraceRoutes.taskRequest)
  async taskRequest(@Caller() caller: Principal, @Input() input: Of<'taskRequest'>) {
    const task = await this.traces.findTask(keyOfOwner(caller, input), input.params.run_id, input.params.task_id);
    return await this.traces.request(task, input.params.call, input.query);
  }
}
