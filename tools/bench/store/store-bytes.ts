import { createRedis, type RedisConnection } from '@caribou/state';
import { startFleet } from '../fleet.js';
import { simpleTurn } from '../load.js';
import { inParallel, inTurn } from '../sample.js';
import { SIZED_RESULT_CONFIG, toolTurn } from '../tool-turn.js';
import { growthByKind, type KindOfKeys, type StoredKey } from './stored-keys.js';
import { langGraphTarget } from '../turns.js';
import { listKeys } from './list-keys.js';

const THREADS = 8;
const TURNS_PER_THREAD = 10;
const CALLS_PER_TOOL_TURN = 5;
const RESULT_CHARS = 2_048;

/** Bytes in Redis per turn. */
export interface StoredBytes {
  readonly plain: readonly KindOfKeys[];
  readonly tool: readonly KindOfKeys[];
}

/**
 * Measures what a turn leaves in Redis once its event log is gone: MEMORY USAGE (all members counted) of all keys of
 * the store except event logs, after minus before 80 turns on 8 new threads, divided by the turns. So keys that all
 * threads share count as well; creating the threads does not. Event logs are deleted first, as their deadline would;
 * whatever else has a deadline is reported apart.
 */
export async function storedBytes(): Promise<StoredBytes> {
  const fleet = await startFleet({ config: SIZED_RESULT_CONFIG });
  const redis = createRedis({ url: fleet.redisUrl });
  try {
    const target = langGraphTarget('caribou', fleet.apiUrl);
    const grown = async (script: string): Promise<readonly KindOfKeys[]> => {
      const threads = await target.prepare(THREADS);
      const before = await listStored(redis);
      await inParallel(THREADS, THREADS, (at) =>
        inTurn(TURNS_PER_THREAD, () => target.turn(threads[at] ?? '', script)),
      );
      return perTurn(growthByKind(before, await listStored(redis)));
    };
    return { plain: await grown(simpleTurn()), tool: await grown(toolTurn(CALLS_PER_TOOL_TURN, RESULT_CHARS)) };
  } finally {
    await redis.close();
    await fleet.stop();
  }
}

const perTurn = (kinds: readonly KindOfKeys[]): readonly KindOfKeys[] =>
  kinds.map((kind) => ({ ...kind, bytes: kind.bytes / (THREADS * TURNS_PER_THREAD) }));

/** Deletes all event logs and lists the other keys with their sizes. */
async function listStored(redis: RedisConnection): Promise<readonly StoredKey[]> {
  const names = await listKeys(redis);
  const isEventLog = (name: string): boolean => /^caribou:(?:tasks:)?events:/.test(name);
  const logs = names.filter(isEventLog);
  if (logs.length > 0) await redis.use((client) => client.del(...logs));
  const others = names.filter((name) => !isEventLog(name));
  return inParallel(others.length, 64, async (at): Promise<StoredKey> => {
    const name = others[at] ?? '';
    const bytes = await redis.use((client) => client.memory('USAGE', name, 'SAMPLES', 0));
    const ttlMs = await redis.use((client) => client.pttl(name));
    return { name, bytes: bytes ?? 0, expires: ttlMs >= 0 };
  });
}
