import type { Config } from '@caribou/config';
import {
  type RedisConnection,
  redisAccountDirectory,
  redisAccounts,
  redisAgents,
  redisAssistants,
  redisAttempts,
  redisFeedback,
  redisItems,
  redisRequestBuckets,
} from '@caribou/state';

/** The stores of accounts, and of what users and their clients store beside threads and runs. */
export const userStores = (redis: RedisConnection, { quotas }: Config) => ({
  agents: redisAgents(redis),
  assistants: redisAssistants(redis),
  feedback: redisFeedback(redis),
  items: redisItems(redis, { maxItems: quotas.maxStoreItemsPerUser, maxBytes: quotas.maxStoreBytesPerUser }),
  accounts: redisAccounts(redis),
  accountDirectory: redisAccountDirectory(redis),
  attempts: redisAttempts(redis),
  requestBuckets: redisRequestBuckets(redis),
});
