import { UnavailableError } from '@caribou/contracts';
import type { ThreadStore } from './ports/thread-store.js';
import { admissions } from './runs/admission.js';
import { checkRedis } from './redis/check-redis.js';
import { changeGoal } from './threads/change-goal.js';
import { checkpointReads } from './checkpoints/checkpoint-reads.js';
import type { RedisConnection } from './redis/connection.js';
import { runLists } from './runs/run-lists.js';
import { runRecords } from './runs/run-records.js';
import { runRemoval } from './runs/run-removal.js';
import { requestPause } from './pause/pause-run.js';
import { stateUpdates } from './checkpoints/state-updates.js';
import { type StoreOptions, storeSettings } from './redis/store-settings.js';
import { threadFeed } from './threads/thread-feed.js';
import { threadRecords } from './threads/thread-records.js';
import { threadSearch } from './threads/thread-search.js';
import { threadUsage } from './threads/thread-usage.js';

/** The store in Redis as the gateway uses it. */
export function redisThreadStore(redis: RedisConnection, options: StoreOptions = {}): ThreadStore {
  const settings = storeSettings(options);
  const updates = stateUpdates(redis, settings);
  return {
    ...threadRecords(redis, settings),
    ...threadSearch(redis),
    ...checkpointReads(redis, settings),
    ...threadFeed(redis),
    ...updates,
    changeGoal: (thread, goal) => changeGoal(redis, updates, thread, goal),
    ...admissions(redis, settings),
    requestPause: (thread, runId, by) => requestPause(redis, thread, runId, by),
    ...runRecords(redis),
    ...runRemoval(redis, settings),
    ...runLists(redis),
    ...threadUsage(redis),
    ping: () => redis.ping(),
    checkDurable: async () => {
      const messages = (await checkRedis(redis)).map(({ message }) => message);
      if (messages.length > 0) throw new UnavailableError(messages.join('; '), { details: { dependency: 'redis' } });
    },
  };
}
