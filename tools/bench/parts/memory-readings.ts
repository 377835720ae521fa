import { createRedis, redisMemoryStore } from '@caribou/state';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CpuByProcess, cpuMeter } from '../cpu-time.js';
import type { Fleet } from '../fleet.js';
import { inParallel } from '../sample.js';
import { langGraphTarget } from '../turns.js';

/** The cost of memory extraction from threads. */
export interface ReadingsCost {
  readonly threads: number;
  readonly readingsPerSecond: number;
  /** CPU of each process per extraction, in milliseconds. */
  readonly cpu: CpuByProcess;
}

/** The owner when authentication is off: all threads are read into one memory, the case with the most conflicts. */
const USER = 'default';
const LOOK_MS = 20;

/** Adds a message to so many threads, then makes them all ready at once and waits until they are read. */
export async function memoryReadings(fleet: Fleet, threads: number): Promise<ReadingsCost> {
  const target = langGraphTarget('caribou', fleet.apiUrl);
  const places = await target.prepare(threads);
  await inParallel(threads, 16, (at) =>
    target.turn(places[at] ?? '', `#say noted\nRemember: item ${at} of a long list.`),
  );
  const redis = createRedis({ url: fleet.redisUrl });
  try {
    const memories = redisMemoryStore(redis);
    const { userDue, due } = redis.keys.memoryUser(USER);
    const members = await redis.use((client) => client.zrange(userDue, 0, -1));
    const readMeter = cpuMeter({ ...fleet.services, ...fleet.servers });
    const startMs = performance.now();
    await redis.use((client) => client.zadd(due, ...members.flatMap((member) => [1, member])));
    while ((await memories.status(USER)).due > 0) await sleep(LOOK_MS);
    const seconds = (performance.now() - startMs) / 1_000;
    const cpu = Object.entries(readMeter()).map(([name, ms]): [string, number] => [name, ms / members.length]);
    return { threads: members.length, readingsPerSecond: members.length / seconds, cpu: Object.fromEntries(cpu) };
  } finally {
    await redis.close();
  }
}
