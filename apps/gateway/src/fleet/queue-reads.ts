import type { Config } from '@caribou/config';
import type { MeasuredConverter } from '@caribou/documents';
import type { QueueState } from '@caribou/contracts';
import {
  type DueUsers,
  readCronQueue,
  readCronUsers,
  readMemoryQueue,
  readMemoryUsers,
  readWaitingRuns,
  readWebhookQueue,
  readWebhookUsers,
  type RedisConnection,
  taskPart,
  type WaitingRuns,
} from '@caribou/state';

/** A queue with the users who wait in it. */
export type UserQueue = QueueState & DueUsers;

/** Reads the queues in Redis, and the conversions of this gateway. All throw UnavailableError when Redis does not answer in time. */
export interface QueueReads {
  readonly runs: (maxThreads: number) => Promise<WaitingRuns>;
  readonly tasks: (maxThreads: number) => Promise<WaitingRuns>;
  readonly crons: () => Promise<UserQueue>;
  readonly webhooks: () => Promise<UserQueue>;
  /** Absent while memory is disabled. */
  readonly memory?: () => Promise<UserQueue>;
  readonly conversions: () => QueueState;
}

interface Queues {
  readonly redis: RedisConnection;
  readonly memory: Pick<Config['chain']['memory'], 'enabled' | 'debounce_seconds'>;
  readonly conversions: Pick<MeasuredConverter, 'queueState'>;
}

export function queueReads({ redis, memory, conversions }: Queues): QueueReads {
  const debounceMs = memory.debounce_seconds * 1_000;
  return {
    runs: (maxThreads) => readWaitingRuns(redis, maxThreads),
    tasks: (maxThreads) => readWaitingRuns(taskPart(redis), maxThreads),
    crons: () => both(readCronQueue(redis), readCronUsers(redis)),
    webhooks: () => both(readWebhookQueue(redis), readWebhookUsers(redis)),
    conversions: () => conversions.queueState(),
    ...(memory.enabled
      ? { memory: () => both(readMemoryQueue(redis, debounceMs), readMemoryUsers(redis, debounceMs)) }
      : {}),
  };
}

async function both(state: Promise<QueueState>, users: Promise<DueUsers>): Promise<UserQueue> {
  const [queue, due] = await Promise.all([state, users]);
  return { ...queue, ...due };
}
