import type { AttemptLimit, AttemptStore } from '../ports/attempt-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';

const scripts = { count: loadScript('users/count-attempts'), refund: loadScript('users/return-attempts') };

/** Counters of attempts: a number each, which expires with its window. */
export function redisAttempts(redis: RedisConnection): AttemptStore {
  const keysOf = (limits: readonly AttemptLimit[]): string[] =>
    limits.map(({ kind, name }) => redis.keys.attempts(kind, name));
  return {
    count: async (limits, windowMs) =>
      Number(await redis.run(scripts.count, keysOf(limits), [windowMs, ...limits.map(({ limit }) => limit)])),
    refund: async (limits) => {
      await redis.run(scripts.refund, keysOf(limits), []);
    },
  };
}
