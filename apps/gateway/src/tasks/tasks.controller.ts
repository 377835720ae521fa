import { type RouteInput, taskRoutes } from '@caribou/contracts';
import { Controller } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { TasksService } from './tasks.service.js';

@Controller(API_ROOTS)
export class TasksController {
  constructor(private readonly tasks: TasksService) {}

  @Route(taskRoutes.list)
  list(@Caller() { userId }: Principal, @Input() { params }: RouteInput<typeof taskRoutes.list>) {
    return this.tasks.list({ userId, threadId: params.thread_id }, params.run_id);
  }

  @Route(taskRoutes.get)
  get(@Caller() { userId }: Principal, @Input() { params }: RouteInput<typeof taskRoutes.get>) {
    return this.tasks.get({ userId, threadId: params.thread_id }, params.run_id, params.task_id);
  }
}
