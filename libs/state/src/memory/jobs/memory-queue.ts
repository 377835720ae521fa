import type { QueueState } from '@caribou/contracts';
import type { RedisConnection } from '../../redis/connection.js';

/**
 * Returns how many threads have been quiet for `debounceMs` and wait for memory extraction, and for how long since then.
 * Threads under extraction, and those whose failed extraction will be retried later, do not count.
 *
 * @throws {UnavailableError} when Redis does not answer in time
 */
export async function readMemoryQueue(redis: RedisConnection, debounceMs: number): Promise<QueueState> {
  const { memoryQueue } = redis.keys;
  const [seconds] = await redis.use((client) => client.time());
  const quietMs = Number(seconds) * 1_000 - debounceMs;
  const [length, [, since]] = await redis.use((client) =>
    Promise.all([
      client.zcount(memoryQueue, '-inf', quietMs),
      client.zrangebyscore(memoryQueue, '-inf', quietMs, 'WITHSCORES', 'LIMIT', 0, 1),
    ]),
  );
  return { length, oldestWaitMs: since === undefined ? 0 : quietMs - Number(since) };
}
