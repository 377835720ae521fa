import type { QueueState } from '@caribou/contracts';
import type { RedisConnection } from '../redis/connection.js';

/** How many crons are due, and for how long the longest due one has been. @throws {UnavailableError} */
export async function readCronQueue(redis: RedisConnection): Promise<QueueState> {
  return readDue(redis, redis.keys.cron('none', 'none').due);
}

/** How many events wait for their delivery, and since when the oldest does. @throws {UnavailableError} */
export async function readWebhookQueue(redis: RedisConnection): Promise<QueueState> {
  return readDue(redis, redis.keys.outbox('none').all);
}

/** Members of a sorted set of times that have passed. */
async function readDue(redis: RedisConnection, key: string): Promise<QueueState> {
  const [seconds] = await redis.use((client) => client.time());
  const nowMs = Number(seconds) * 1_000;
  const [length, [, since]] = await redis.use((client) =>
    Promise.all([
      client.zcount(key, '-inf', nowMs),
      client.zrangebyscore(key, '-inf', nowMs, 'WITHSCORES', 'LIMIT', 0, 1),
    ]),
  );
  return { length, oldestWaitMs: since === undefined ? 0 : nowMs - Number(since) };
}
