import type { CronStart } from '../ports/cron-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { pendingMember } from '../redis/keys.js';

/** The member of the due crons, which has the form of one of the pending set. */
export const cronMember = (userId: string, cronId: string): string => pendingMember({ userId, threadId: cronId });

const textOf = (ms: number | null): string => (ms === null ? '' : String(ms));

/** The parameter `cron` of `crons/cron-due.lua`. */
export function cronParams(redis: RedisConnection, userId: string, start: CronStart) {
  const { record, runs, due } = redis.keys.cron(userId, start.cronId);
  return {
    record,
    runs,
    due_set: due,
    member: cronMember(userId, start.cronId),
    version: String(start.version),
    due: textOf(start.dueMs),
    next: textOf(start.nextMs),
    missed: start.missed,
    ...(start.maxRuns === null ? {} : { max_runs: start.maxRuns }),
    entry: JSON.stringify(start.entry),
  };
}
