import { Controller } from '@nestjs/common';
import { type RouteInput, scheduledTaskRoutes } from '@caribou/contracts';
import { keyLabel, type Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { ScheduledTasksService } from './scheduled-tasks.service.js';

type Of<Name extends keyof typeof scheduledTaskRoutes> = RouteInput<(typeof scheduledTaskRoutes)[Name]>;

@Controller(API_ROOTS)
export class ScheduledTasksController {
  constructor(private readonly tasks: ScheduledTasksService) {}

  @Route(scheduledTaskRoutes.list)
  list(@Caller() { userId }: Principal) {
    return this.tasks.list(userId);
  }

  @Route(scheduledTaskRoutes.listOfThread)
  listOfThread(@Caller() { userId }: Principal, @Input() { params }: Of<'listOfThread'>) {
    return this.tasks.listOfThread(userId, params.thread_id);
  }

  @Route(scheduledTaskRoutes.eventsOfThread)
  eventsOfThread(@Caller() { userId }: Principal, @Input() { params }: Of<'eventsOfThread'>) {
    return this.tasks.eventsOfThread(userId, params.thread_id);
  }

  @Route(scheduledTaskRoutes.create)
  create(@Caller() caller: Principal, @Input() { body }: Of<'create'>) {
    return this.tasks.create({ userId: caller.userId, apiKey: keyLabel(caller) }, body);
  }

  @Route(scheduledTaskRoutes.get)
  get(@Caller() { userId }: Principal, @Input() { params }: Of<'get'>) {
    return this.tasks.get(userId, params.task_id);
  }

  @Route(scheduledTaskRoutes.update)
  update(@Caller() { userId }: Principal, @Input() { params, body }: Of<'update'>) {
    return this.tasks.update(userId, params.task_id, body);
  }

  @Route(scheduledTaskRoutes.remove)
  async remove(@Caller() { userId }: Principal, @Input() { params }: Of<'remove'>) {
    await this.tasks.remove(userId, params.task_id);
    return { id: params.task_id, deleted: true };
  }

  @Route(scheduledTaskRoutes.pause)
  pause(@Caller() { userId }: Principal, @Input() { params }: Of<'pause'>) {
    return this.tasks.pause(userId, params.task_id);
  }

  @Route(scheduledTaskRoutes.resume)
  resume(@Caller() { userId }: Principal, @Input() { params, body }: Of<'resume'>) {
    return this.tasks.resume(userId, params.task_id, body);
  }

  @Route(scheduledTaskRoutes.trigger)
  async trigger(@Caller() caller: Principal, @Input() { params }: Of<'trigger'>) {
    const { threadId } = await this.tasks.trigger({ userId: caller.userId, apiKey: keyLabel(caller) }, params.task_id);
    return { id: params.task_id, triggered: true, outcome: 'launched', existing: false, thread_id: threadId };
  }

  @Route(scheduledTaskRoutes.runs)
  listRuns(@Caller() { userId }: Principal, @Input() { params, query }: Of<'runs'>) {
    return this.tasks.listRuns(userId, params.task_id, query);
  }
}
