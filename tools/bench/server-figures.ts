import { createRedis } from '@caribou/state';
import type { Fleet } from './fleet.js';

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
  natsSubscriptions(): Promise<number>;
  setFsync(policy: 'everysec' | 'always'): Promise<void>;
  close(): Promise<void>;
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
    redisMemoryBytes: () => redisFigure('memory', ['used_memory']),
    natsSubscriptions: () => natsFigure('subscriptions'),
    setFsync: async (policy) => {
      await redis.use((client) => client.config('SET', 'appendfsync', policy));
    },
    close: () => redis.close(),
  };
}
