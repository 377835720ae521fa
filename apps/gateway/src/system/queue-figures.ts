import type { Config } from '@caribou/config';
import type { MeasuredConverter } from '@caribou/documents';
import type { Metrics } from '@caribou/observability';
import {
  countPendingThreads,
  type MemoryWatch,
  readCronQueue,
  readMemoryQueue,
  readRunQueue,
  readWebhookQueue,
  type RedisConnection,
  taskPart,
} from '@caribou/state';

interface Queues {
  readonly redis: RedisConnection;
  readonly redisMemory: Pick<MemoryWatch, 'usedShare'>;
  readonly memory: Pick<Config['chain']['memory'], 'enabled' | 'debounce_seconds'>;
  readonly conversions: Pick<MeasuredConverter, 'queueState' | 'slots'>;
}

/** Adds the queues of all users in Redis to the metrics, and the one of this gateway's conversions. */
export function measureQueues(metrics: Metrics, { redis, redisMemory, memory, conversions }: Queues): void {
  // A figure that cannot be read is not a number.
  metrics.measure('pending_threads', () => countPendingThreads(redis).catch(() => NaN));
  metrics.measure('redis_memory_ratio', () => redisMemory.usedShare);
  metrics.measureQueue('runs', () => readRunQueue(redis));
  metrics.measureQueue('tasks', () => readRunQueue(taskPart(redis)));
  metrics.measureQueue('crons', () => readCronQueue(redis));
  metrics.measureQueue('webhooks', () => readWebhookQueue(redis));
  metrics.measureQueue('conversions', () => conversions.queueState());
  metrics.measureSlots('conversions', conversions.slots);
  if (memory.enabled) metrics.measureQueue('memory', () => readMemoryQueue(redis, memory.debounce_seconds * 1_000));
}
