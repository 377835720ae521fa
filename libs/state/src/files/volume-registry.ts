import type { VolumeRegistry } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';

/** The volume in use, in a key without a deadline: a restart of the system must not replace it silently. */
export function redisVolumeRegistry(redis: RedisConnection): VolumeRegistry {
  const key = redis.keys.volume;
  return {
    agree: async (volumeId) => {
      await redis.use((client) => client.set(key, volumeId, 'NX'));
      return (await redis.use((client) => client.get(key))) ?? volumeId;
    },
  };
}
