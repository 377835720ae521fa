import {
  ForbiddenError,
  type goalRoutes,
  type GoalState,
  InvalidRequestError,
  NotFoundError,
  type RouteInput,
} from '@caribou/contracts';
import { systemClock, type ThreadKey } from '@caribou/core';
import type { ThreadStore } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../../dependency.js';
import type { GatewaySettings } from '../../settings.js';

/** Goals of threads, which the agent pursues over several answers. */
@Injectable()
export class GoalsService {
  constructor(
    @Dependency('threadStore')
    private readonly threads: Pick<ThreadStore, 'getThread' | 'createThread' | 'changeGoal'>,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'goals'>,
  ) {}

  /** The goal as it was set last, also when a run in flight has not taken it over yet. @throws {NotFoundError} */
  async read(thread: ThreadKey): Promise<GoalState | null> {
    return (await this.threads.getThread(thread)).values.goal ?? null;
  }

  /**
   * Sets a new goal with fresh counters; makes the thread if it does not exist, as web clients name a thread before its first
   * message.
   *
   * @throws {ForbiddenError} when goals are off; InvalidRequestError for more continuations than the configuration allows
   */
  async set(thread: ThreadKey, body: RouteInput<typeof goalRoutes.set>['body']): Promise<GoalState> {
    const goal = this.createGoal(body);
    try {
      await this.threads.changeGoal(thread, goal);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      await this.threads.createThread(thread, {});
      await this.threads.changeGoal(thread, goal);
    }
    return goal;
  }

  /** @throws {NotFoundError} for an unknown thread */
  async clear(thread: ThreadKey): Promise<void> {
    if ((await this.read(thread)) !== null) await this.threads.changeGoal(thread, null);
  }

  private createGoal({ objective, max_continuations: asked }: RouteInput<typeof goalRoutes.set>['body']): GoalState {
    const { enabled, max_continuations: limit, max_no_progress_continuations: maxNoProgress } = this.settings.goals;
    if (!enabled) throw new ForbiddenError('threads have no goals here: goals.enabled is false');
    const continuations = asked ?? limit;
    if (continuations > limit)
      throw new InvalidRequestError(`max_continuations: must be at most ${limit} (goals.max_continuations)`);
    const now = new Date(systemClock.now()).toISOString();
    return {
      objective,
      status: 'active',
      created_at: now,
      updated_at: now,
      continuation_count: 0,
      max_continuations: continuations,
      no_progress_count: 0,
      max_no_progress_continuations: maxNoProgress,
    };
  }
}
