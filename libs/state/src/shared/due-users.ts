import type { RedisConnection } from '../redis/connection.js';
import { countUsers, type UserCount } from './count-users.js';

/** Maximum number of entries of a queue that are read, those that wait longest. */
const MAX_READ = 1_000;

/** The users with the most waiting entries, among those that wait longest. */
export interface DueUsers {
  readonly users: readonly UserCount[];
  /** Whether all waiting entries were counted. */
  readonly isWhole: boolean;
}

/** @throws {UnavailableError} when Redis does not answer in time */
export const readCronUsers = (redis: RedisConnection): Promise<DueUsers> =>
  readDueUsers(redis, redis.keys.cron('none', 'none').due);

/** Users with events of webhooks that wait for their delivery. @throws {UnavailableError} */
export const readWebhookUsers = (redis: RedisConnection): Promise<DueUsers> =>
  readDueUsers(redis, redis.keys.outbox('none').all);

/** Users with threads that have been quiet for `debounceMs` and wait for memory extraction. @throws {UnavailableError} */
export const readMemoryUsers = (redis: RedisConnection, debounceMs: number): Promise<DueUsers> =>
  readDueUsers(redis, redis.keys.memoryQueue, debounceMs);

/** Users of a sorted set of `<user>/…` by due times, of which those count that passed `quietMs` ago. */
async function readDueUsers(redis: RedisConnection, key: string, quietMs = 0): Promise<DueUsers> {
  const [seconds] = await redis.use((client) => client.time());
  const untilMs = Number(seconds) * 1_000 - quietMs;
  const members = await redis.use((client) => client.zrangebyscore(key, '-inf', untilMs, 'LIMIT', 0, MAX_READ + 1));
  const users = members.slice(0, MAX_READ).map((member) => member.slice(0, member.indexOf('/')));
  return { users: countUsers(users), isWhole: members.length <= MAX_READ };
}
