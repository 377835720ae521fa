import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMeter, residentBytes } from '../cpu-time.js';
import type { Fleet } from '../fleet.js';
import { simpleTurn } from '../load.js';
import { inParallel, sum } from '../sample.js';
import { langGraphTarget, newThread } from '../turns.js';
import type { ServerFigures } from '../server-figures.js';

interface AtRest {
  readonly residentBytes: Readonly<Record<string, number>>;
  /** Bytes in use after a collection of garbage. */
  readonly retainedBytes: Readonly<Record<string, number>>;
  readonly subscriptions: number;
  /** CPU of all services without requests, in milliseconds per second. */
  readonly cpuMsPerSecond: number;
  readonly redisMemoryBytes: number;
}

export interface IdleCost {
  readonly threads: number;
  readonly before: AtRest;
  readonly after: AtRest;
  /** CPU of all services to create one thread, in milliseconds. */
  readonly cpuMsPerThread: number;
}

const REST_MS = 5_000;
/** One in so many of the idle threads had a run. */
const RUN_EVERY = 50;

/** Measures the cost of so many threads while they are idle. */
export async function idleThreads(fleet: Fleet, figures: ServerFigures, threads: number): Promise<IdleCost> {
  const target = langGraphTarget('caribou', fleet.apiUrl);
  // Lazily created objects exist before the first measurement.
  await inParallel(Math.ceil(threads / 5), 32, () => newThread(fleet.apiUrl));
  const before = await atRest(fleet, figures);
  const readMeter = cpuMeter(fleet.services);
  const ids = await inParallel(threads, 32, () => newThread(fleet.apiUrl));
  const cpuMsPerThread = sum(Object.values(readMeter())) / threads;
  const used = ids.filter((_id, index) => index % RUN_EVERY === 0);
  await inParallel(used.length, 16, (index) => target.turn(used[index] ?? '', simpleTurn()));
  const after = await atRest(fleet, figures);
  return { threads, before, after, cpuMsPerThread };
}

async function atRest(fleet: Fleet, figures: ServerFigures): Promise<AtRest> {
  const { services } = fleet;
  await sleep(1_000);
  const readMeter = cpuMeter(services);
  await sleep(REST_MS);
  return {
    cpuMsPerSecond: (sum(Object.values(readMeter())) * 1000) / REST_MS,
    residentBytes: Object.fromEntries(Object.entries(services).map(([name, pid]) => [name, residentBytes(pid)])),
    retainedBytes: Object.fromEntries(Object.entries(await fleet.retained()).map(([name, { bytes }]) => [name, bytes])),
    subscriptions: await figures.natsSubscriptions(),
    redisMemoryBytes: await figures.redisMemoryBytes(),
  };
}
