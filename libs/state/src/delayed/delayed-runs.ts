import { BugError } from '@caribou/contracts';
import type { DelayedRun, DelayedRuns, DelayedStart } from '../ports/delayed-runs.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import { type StoreOptions, storeSettings } from '../redis/store-settings.js';
import { callThread } from '../redis/thread-call.js';
import { toEndedRuns } from '../runs/admission.js';
import { readRun } from '../runs/run-records.js';
import { traceTtl } from '../traces/trace-call.js';
import { endParams } from '../shared/timed-params.js';

const scripts = { due: loadScript('delayed/due-delayed'), start: loadScript('delayed/start-delayed') };

/** Parses a member of `DelayedKeys.all`. @throws {BugError} */
function parseMember(member: string): DelayedRun {
  const [userId, threadId, runId, more] = member.split('/');
  if (userId !== undefined && threadId !== undefined && runId !== undefined && more === undefined)
    return { userId, threadId, runId };
  throw new BugError('malformed member of the delayed runs', { details: { member } });
}

/** Runs that wait for their time, in Redis. */
export function redisDelayedRuns(redis: RedisConnection, options: StoreOptions): DelayedRuns {
  const settings = storeSettings(options);
  const { all } = redis.keys.delayedRuns('none');
  return {
    listDue: async (limit) => {
      const [wait, members] = (await redis.run(scripts.due, [all], [limit])) as [string, string[]];
      return { runs: members.map(parseMember), waitMs: Number(wait) < 0 ? null : Number(wait) };
    },
    start: async (run): Promise<DelayedStart> => {
      const stored = await readRun(redis, run.userId, run.runId);
      const reply = await callThread(redis, run, scripts.start, {
        beginsTurn: true,
        params: {
          ...endParams(redis, run.userId),
          run: run.runId,
          events_ttl_ms: settings.eventsTtlMs,
          ...traceTtl(settings),
          idempotency_ttl_ms: settings.idempotencyTtlMs,
          max_log_bytes: settings.maxLogBytes,
        },
      });
      if (reply[0] !== 'ok') return null;
      const action = stored?.multitask_strategy === 'rollback' ? 'rollback' : 'interrupt';
      return { cancelled: reply[1] as string[], action, ended: toEndedRuns(reply[2]), isUnderWay: reply[3] === 1 };
    },
  };
}
