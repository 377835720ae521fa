import type { RunEvent } from '@caribou/contracts';
import type { RunEventLog } from '../ports/thread-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import { parseStored } from '../redis/stored-json.js';

const script = loadScript('runs/read-events');

/** Reads the event logs of runs, also after a run's record was removed. */
export function redisEventLog(redis: RedisConnection): RunEventLog {
  return {
    read: async (userId, runId, { after, limit }) => {
      const key = redis.keys.runEvents(userId, runId);
      const reply = (await redis.run(script, [key], [after, limit])) as [string[], number, number];
      const [flat, firstKept, lastSeq] = reply;
      const events = [];
      for (let index = 0; index + 1 < flat.length; index += 2) {
        events.push({
          seq: Number.parseInt(flat[index] ?? '', 10),
          event: parseStored<RunEvent>(flat[index + 1] ?? ''),
        });
      }
      return { events, firstKept, lastSeq };
    },
  };
}
