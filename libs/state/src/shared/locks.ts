import type { Locks } from '../ports/locks.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';

const releaseLock = loadScript('shared/release-lock');

/** Locks by name: a string with a deadline each. */
export const redisLocks = (redis: RedisConnection): Locks => ({
  acquire: async (name, owner, forMs) =>
    (await redis.use((client) => client.set(redis.keys.lock(name), owner, 'PX', forMs, 'NX'))) === 'OK',
  release: async (name, owner) => {
    await redis.run(releaseLock, [redis.keys.lock(name)], [owner]);
  },
});
