import { type AiMessage, type NumberedEvent, type RunEvent, omitUndefined } from '@caribou/contracts';
import { type TurnUsage, applyUpdate } from '@caribou/core';
import {
  type FinishRequest,
  type NewTask,
  type RunEventLog,
  type RunStore,
  type TaskStore,
  type RedisConnection,
  redisEventLog,
  redisRunStore,
  redisTaskStore,
} from '@caribou/state';
import { newId } from '@caribou/contracts';
import { callOfTask } from './sample-task.js';
import { type ClaimedRun, openStores, type StoreFixture } from './store-fixture.js';

export interface TaskFixtureOptions {
  readonly maxPending?: number;
  readonly leaseMs?: number;
}

/** The stores of parents and of their tasks on one Redis, and a pool that the test controls. */
export interface TaskFixture {
  readonly main: StoreFixture;
  readonly part: RedisConnection;
  readonly tasks: TaskStore;
  readonly runs: RunStore;
  readonly taskLog: RunEventLog;
  /** Claims the task as a pool does and publishes its start. @throws Error when there is nothing to run. */
  take(task: NewTask): Promise<ClaimedRun>;
  /** Commits one answer with its `usage`. */
  answer(claimed: ClaimedRun, message: AiMessage, usage?: TurnUsage): Promise<ClaimedRun>;
  finish(claimed: ClaimedRun, request?: Partial<FinishRequest>): Promise<readonly NumberedEvent[]>;
  close(): Promise<void>;
}

export function openTasks(url: string, { maxPending = 100, leaseMs = 60_000 }: TaskFixtureOptions = {}): TaskFixture {
  const main = openStores(url);
  const part = main.redis.part('tasks');
  const tasks = redisTaskStore(part, { maxPending, maxPendingPerUser: maxPending, keptMs: 3_600_000 });
  const runs = redisRunStore(part, { leaseMs });

  return {
    main,
    part,
    tasks,
    runs,
    taskLog: redisEventLog(part),
    take: async (task) => {
      const claimed = await runs.claim(tasks.threadOf(callOfTask(task)), newId());
      if (claimed.kind !== 'run') throw new Error(`the claim answered ${claimed.kind}`);
      await runs.append(claimed.lease, [startOf(claimed)]);
      return claimed;
    },
    answer: async (claimed, message, usage) => {
      const { head } = await runs.commit(claimed.lease, {
        head: claimed.head,
        state: applyUpdate(claimed.head.state, { messages: [message] }),
        next: [],
        source: 'loop',
        step: 1,
        events: [{ kind: 'message', node: 'model_request', step: 1, message }],
        ...omitUndefined({ usage }),
      });
      return { ...claimed, head };
    },
    finish: async ({ lease }, request = {}) =>
      (await runs.finish(lease, { status: 'success', events: [], ...request })).appended,
    close: () => main.close(),
  };
}

export interface SilentBus {
  /** Runs that were asked to stop. */
  readonly cancelled: readonly string[];
  publishCancel(runId: string): void;
  subscribeEvents(): Promise<() => void>;
}

/** A bus that loses every event, so that a waiting parent reads the log. */
export function silentBus(): SilentBus {
  const cancelled: string[] = [];
  return {
    cancelled,
    publishCancel: (runId) => void cancelled.push(runId),
    subscribeEvents: () => Promise.resolve(() => undefined),
  };
}

const startOf = ({ run }: ClaimedRun): RunEvent => ({
  kind: 'run.start',
  run_id: run.run_id,
  thread_id: run.thread_id,
  attempt: run.attempt,
  dropped_message_ids: [],
  checkpoint_id: null,
});
