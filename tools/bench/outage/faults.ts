import { setTimeout as sleep } from 'node:timers/promises';
import { createRedis, type RedisConnection } from '@caribou/state';
import type { Fleet } from '../fleet.js';

/** What happens to a server while turns are under way. */
export interface Fault {
  readonly name: string;
  /** Makes the server fail; resolves when the cause is over. */
  readonly run: (fleet: Fleet) => Promise<void>;
}

const FULL_MS = 20_000;
const PAUSE_MS = 10_000;
const STALL_MS = 4_000;
/** What a Redis that is nearly full can still take. */
const HEADROOM_BYTES = 256 * 1024;

async function withRedis(fleet: Fleet, use: (redis: RedisConnection) => Promise<void>): Promise<void> {
  const redis = createRedis({ url: fleet.redisUrl });
  try {
    await use(redis);
  } finally {
    await redis.close();
  }
}

const setMaxBytes = (redis: RedisConnection, bytes: number): Promise<unknown> =>
  redis.use((client) => client.config('SET', 'maxmemory', bytes));

async function fillRedis(fleet: Fleet): Promise<void> {
  await withRedis(fleet, async (redis) => {
    const info = await redis.use((client) => client.info('memory'));
    await setMaxBytes(redis, Number(/^used_memory:(\d+)/m.exec(info)?.[1]) + HEADROOM_BYTES);
    await sleep(FULL_MS);
    await setMaxBytes(redis, 0);
  });
}

type Server = 'redis' | 'nats';

const pause =
  (server: Server, ms: number) =>
  async (fleet: Fleet): Promise<void> => {
    fleet[server].pause();
    try {
      await sleep(ms);
    } finally {
      fleet[server].resume();
    }
  };

const restart =
  (server: Server, how: 'kill' | 'stop') =>
  async (fleet: Fleet): Promise<void> => {
    await fleet[server][how]();
    await fleet[server].startAgain();
  };

export const FAULTS: readonly Fault[] = [
  { name: 'Redis full for 20 s', run: fillRedis },
  { name: 'Redis paused for 10 s', run: pause('redis', PAUSE_MS) },
  { name: 'Redis stalled for 4 s', run: pause('redis', STALL_MS) },
  { name: 'Redis killed, restarted', run: restart('redis', 'kill') },
  { name: 'Redis stopped, restarted', run: restart('redis', 'stop') },
  { name: 'NATS paused for 10 s', run: pause('nats', PAUSE_MS) },
  { name: 'NATS killed, restarted', run: restart('nats', 'kill') },
];
