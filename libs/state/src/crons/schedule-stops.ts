import { BugError, FencedError } from '@caribou/contracts';
import type { SchedulePort } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import { cronMember } from './cron-params.js';

const script = loadScript('crons/stop-cron');

/** What DeerFlow's page recognizes as the reason of a schedule that an agent has stopped. */
const reasonOf = (runId: string): string => `stopped by the agent in run ${runId}`;

/** The schedules of users as the agents of their runs may stop them. */
export function redisSchedules(redis: RedisConnection): SchedulePort {
  return {
    stop: async ({ userId, threadId, runId, epoch, taskId }) => {
      const { lease, owner } = redis.keys.thread({ userId, threadId });
      const { record, runs, due } = redis.keys.cron(userId, taskId);
      const args = [String(epoch), runId, cronMember(userId, taskId), reasonOf(runId)];
      const [outcome, detail] = (await redis.run(script, [lease, owner, record, runs, due], args)) as [string, string?];
      switch (outcome) {
        case 'stopped':
        case 'over':
        case 'foreign':
          return outcome;
        case 'fenced':
          throw new FencedError('the run may not stop its schedule', { details: { reason: detail, runId } });
        default:
          throw new BugError('a key of the store holds a foreign type', { details: { key: detail } });
      }
    },
  };
}
