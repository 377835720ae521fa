import {
  type RedisConnection,
  redisAccountDirectory,
  redisAccounts,
  redisApiKeys,
  redisAttempts,
  redisRequestBuckets,
} from '@caribou/state';
import { scryptPasswords } from '../auth/passwords.js';

/** Who may call, and how often. */
export const accessDependencies = (redis: RedisConnection) => ({
  accounts: redisAccounts(redis),
  accountDirectory: redisAccountDirectory(redis),
  apiKeys: redisApiKeys(redis),
  attempts: redisAttempts(redis),
  passwords: scryptPasswords(),
  requestBuckets: redisRequestBuckets(redis),
});
