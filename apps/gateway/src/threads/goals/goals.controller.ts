import { type GoalReply, goalRoutes, type RouteInput } from '@caribou/contracts';
import { Controller } from '@nestjs/common';
import type { Principal } from '../../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../../http/route.decorators.js';
import { GoalsService } from './goals.service.js';

@Controller(API_ROOTS)
export class GoalsController {
  constructor(private readonly goals: GoalsService) {}

  @Route(goalRoutes.get)
  async get(
    @Caller() { userId }: Principal,
    @Input() { params }: RouteInput<typeof goalRoutes.get>,
  ): Promise<GoalReply> {
    return { goal: await this.goals.read({ userId, threadId: params.thread_id }) };
  }

  @Route(goalRoutes.set)
  async set(
    @Caller() { userId }: Principal,
    @Input() { params, body }: RouteInput<typeof goalRoutes.set>,
  ): Promise<GoalReply> {
    return { goal: await this.goals.set({ userId, threadId: params.thread_id }, body) };
  }

  @Route(goalRoutes.clear)
  async clear(
    @Caller() { userId }: Principal,
    @Input() { params }: RouteInput<typeof goalRoutes.clear>,
  ): Promise<GoalReply> {
    await this.goals.clear({ userId, threadId: params.thread_id });
    return { goal: null };
  }
}
