import { UnavailableError } from '@caribou/contracts';
import type { ThreadStore } from '@caribou/core';
import { admissions } from './admission.js';
import { checkRedis } from './check-redis.js';
import { checkpointReads } from './checkpoint-reads.js';
import type { RedisConnection } from './connection.js';
import { runRecords } from './run-records.js';
import { stateUpdates } from './state-updates.js';
import { type StoreOptions, storeSettings } from './store-settings.js';
import { threadFeed } from './thread-feed.js';
import { threadRecords } from './thread-records.js';
import { threadSearch } from './thread-search.js';
import { threadUsage } from './thread-usage.js';

/** The gateway's face of the store in Redis. */
export function redisThreadStore(redis: RedisConnection, options: StoreOptions = {}): ThreadStore {
  const settings = storeSettings(options);
  return {
    ...threadRecords(redis, settings),
    ...threadSearch(redis),
    ...checkpointReads(redis),
    ...threadFeed(redis),
    ...stateUpdates(redis, settings),
    ...admissions(redis, settings),
    ...runRecords(redis),
    ...threadUsage(redis),
    ping: () => redis.ping(),
    checkDurable: async () => {
      const [finding] = await checkRedis(redis);
      if (finding !== undefined) throw new UnavailableError(finding.message, { details: { dependency: 'redis' } });
    },
  };
}
