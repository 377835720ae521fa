import { createRedis, type RedisConnection } from '@caribou/state';
import type { Fleet } from './fleet.js';
import { parseRedisUse, type RedisUse } from './store/redis-use.js';

/** Bytes that the servers stored or transferred since their start. */
export interface Written {
  /** Appended to Redis' append-only file. */
  readonly redisBytes: number;
  /** Received by NATS from all its clients. */
  readonly natsBytes: number;
}

export interface ServerFigures {
  written(): Promise<Written>;
  redisMemoryBytes(): Promise<number>;
  /** What Redis has done since its start, without the bytes of these readings. */
  redisUse(): Promise<RedisUse>;
  natsSubscriptions(): Promise<number>;
  setFsync(policy: 'everysec' | 'always'): Promise<void>;
  close(): Promise<void>;
}

/** `INFO all` on the wire. */
const INFO_REQUEST_BYTES = Buffer.byteLength('*2\r\n$4\r\ninfo\r\n$3\r\nall\r\n');

/** Reads `INFO all`. What it transferred itself before a reading is not part of that reading. */
export function redisUseReader(redis: RedisConnection): () => Promise<RedisUse> {
  let ownBytes = 0;
  return async () => {
    const info = await redis.use((client) => client.info('all'));
    ownBytes += INFO_REQUEST_BYTES;
    const use = parseRedisUse(info);
    const wireBytes = use.wireBytes - ownBytes;
    const replyBytes = Buffer.byteLength(info);
    ownBytes += replyBytes + Buffer.byteLength(`$${replyBytes}\r\n\r\n`);
    return { ...use, wireBytes };
  };
}

/** Reads statistics of Redis and NATS. */
export function serverFigures({ redisUrl, natsMonitorUrl }: Fleet): ServerFigures {
  const redis = createRedis({ url: redisUrl });
  const redisFigure = async (section: string, names: readonly string[]): Promise<number> => {
    const text = await redis.use((client) => client.info(section));
    return names.reduce((total, name) => total + Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1] ?? 0), 0);
  };
  const natsFigure = async (name: string): Promise<number> => {
    const response = await fetch(`${natsMonitorUrl}/varz`, { signal: AbortSignal.timeout(5_000) });
    return Number(((await response.json()) as Readonly<Record<string, unknown>>)[name]);
  };
  return {
    written: async () => ({
      // Bytes that are not flushed yet count as well.
      redisBytes: await redisFigure('persistence', ['aof_current_size', 'aof_buffer_length']),
      natsBytes: await natsFigure('in_bytes'),
    }),
    redisUse: redisUseReader(redis),
    redisMemoryBytes: () => redisFigure('memory', ['used_memory']),
    natsSubscriptions: () => natsFigure('subscriptions'),
    setFsync: async (policy) => {
      await redis.use((client) => client.config('SET', 'appendfsync', policy));
    },
    close: () => redis.close(),
  };
}
