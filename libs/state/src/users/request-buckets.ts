import type { RequestBuckets } from '../ports/request-buckets.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';

const script = loadScript('users/spend-tokens');

/** Token buckets in Redis. Each expires once it would be full. */
export function redisRequestBuckets(redis: RedisConnection): RequestBuckets {
  return {
    spend: async ({ kind, id }, tokens, { perSecond, burst, lowest }) =>
      Number(await redis.run(script, [redis.keys.requestBucket(kind, id)], [tokens, perSecond, burst, lowest])),
  };
}
