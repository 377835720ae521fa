import type { RunRecord } from '@caribou/contracts';
import { silentLogger, type ThreadKey } from '@caribou/core';
import { createRedis, redisTaskStore, taskPart } from '@caribou/state';
import type { Stack } from './stack.js';

/** The store's records of tasks; all times are of its own clock. */
export interface TaskRecords {
  ofThreads(threads: readonly ThreadKey[]): Promise<readonly RunRecord[]>;
  close(): Promise<void>;
}

export function openTaskRecords({ redis: { url } }: Pick<Stack, 'redis'>): TaskRecords {
  const redis = createRedis({ url, logger: silentLogger });
  const tasks = redisTaskStore(taskPart(redis), { maxPending: 1, maxPendingPerUser: 1, keptMs: 60_000 });
  return {
    ofThreads: async (threads) => (await Promise.all(threads.map((thread) => tasks.tasksOf(thread)))).flat(),
    close: () => redis.close(),
  };
}

/** The script in the prompt of a task. */
export function workOf({ kwargs }: RunRecord): string {
  const content = kwargs.input?.messages?.[0]?.content;
  if (typeof content !== 'string') throw new Error('a task without a text');
  return content;
}

/** The largest number of these ended tasks that ran at the same time. */
export function mostAtOnce(records: readonly RunRecord[]): number {
  const changes = records.flatMap(({ started_at: from, updated_at: to }) =>
    from === null
      ? []
      : [
          { at: Date.parse(from), by: 1 },
          { at: Date.parse(to), by: -1 },
        ],
  );
  let [running, most] = [0, 0];
  // What ends in the millisecond in which something else starts has ended before.
  for (const { by } of changes.toSorted((one, other) => one.at - other.at || one.by - other.by)) {
    running += by;
    most = Math.max(most, running);
  }
  return most;
}
