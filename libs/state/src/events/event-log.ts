import type { NumberedEvent } from '@caribou/contracts';
import type { RunEventLog } from '../ports/thread-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import { eventsOfEntry } from './log-entries.js';

const script = loadScript('events/read-events');

/** Reads the event logs of runs, also after a run's record was removed. */
export function redisEventLog(redis: RedisConnection): RunEventLog {
  return {
    read: async (userId, runId, { after, limit }) => {
      const key = redis.keys.runEvents(userId, runId);
      const reply = (await redis.run(script, [key], [after, limit])) as [string[], number, number];
      const [flat, oldest, lastSeq] = reply;
      const events = eventsOf(flat);
      // The oldest entry has the number of the last event that it holds.
      const firstKept = Math.min(oldest, events[0]?.seq ?? oldest);
      return { events: events.filter(({ seq }) => seq > after), firstKept, lastSeq };
    },
  };
}

/** Decodes entries. An event after numbers that were skipped (`skip_numbers` in events.lua) says which number it follows. */
function eventsOf(flat: readonly string[]): NumberedEvent[] {
  const events: NumberedEvent[] = [];
  let firstSkipped: number | undefined;
  for (let index = 0; index + 2 < flat.length; index += 3) {
    const [id = '', field = '', text = ''] = flat.slice(index, index + 3);
    if (field === 'skips') {
      firstSkipped ??= Number(text);
      continue;
    }
    const [first, ...rest] = eventsOfEntry(Number.parseInt(id, 10), text);
    if (first === undefined) continue;
    events.push(firstSkipped === undefined ? first : { ...first, follows: firstSkipped - 1 }, ...rest);
    firstSkipped = undefined;
  }
  return events;
}
