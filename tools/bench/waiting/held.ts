import { createRedis, type RedisConnection } from '@caribou/state';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CpuByProcess, cpuMeter } from '../cpu-time.js';
import type { Fleet, Service } from '../fleet.js';
import type { Retained } from '../processes.js';
import { sum } from '../sample.js';
import { listKeys } from '../store/list-keys.js';

/** Logs that one command deletes. */
const LOGS_PER_CALL = 1_000;

/** What a service holds; caches by its own metric, which are bounded and forget what is old. */
export interface HeldByService extends Retained {
  readonly cacheBytes: number;
  /** Runs, tasks, extractions, conversions, sandboxes and executions under way. */
  readonly slots: number;
}

export interface HeldInRedis {
  readonly bytes: number;
  readonly clients: number;
  readonly blockedClients: number;
  /** Channels and patterns that clients subscribe to. */
  readonly subscriptions: number;
  /** Keys that exist only while work is under way: leases, slots, queues. */
  readonly workKeys: number;
}

/** What a whole system holds while nothing happens. */
export interface Held {
  readonly services: Readonly<Record<string, HeldByService>>;
  readonly redis: HeldInRedis;
  /** Subscriptions at NATS, by the name of the connection. */
  readonly subscriptions: Readonly<Record<string, number>>;
  /** Messages in JetStream. */
  readonly natsMessages: number;
  /** Redis and NATS included. */
  readonly cpuMsPerSecond: CpuByProcess;
}

const TIMEOUT_MS = 30_000;
const REST_MS = 30_000;
/** Connections and garbage of the last requests are gone by then. */
const SETTLE_MS = 6_000;
const WORK_KEYS = /:lease$|^caribou:(tasks:)?(pending|slots|slots:tokens)$|:in-flight$|:memory:(due|running)$|:inbox$/;
const SERVICES: readonly Service[] = ['gateway', 'agent-runner', 'subagent-pool', 'sandbox-manager', 'memory-worker'];

/** Waits until everything is at rest, measures for half a minute, and reads what is held. */
export async function readHeld(fleet: Fleet): Promise<Held> {
  await untilAtRest(fleet);
  await sleep(SETTLE_MS);
  const readMeter = cpuMeter({ ...fleet.services, ...fleet.servers });
  await sleep(REST_MS);
  const cpu = Object.entries(readMeter()).map(([name, ms]): [string, number] => [name, (ms * 1_000) / REST_MS]);
  const retained = await fleet.retained();
  const services = SERVICES.map(async (name): Promise<[string, HeldByService]> => {
    const held = retained[name];
    if (held === undefined) throw new Error(`${name} does not tell what it retains`);
    const metrics = await metricsOf(fleet, name);
    return [name, { ...held, cacheBytes: total(metrics, 'caribou_cache_bytes'), slots: slotsIn(metrics) }];
  });
  return {
    services: Object.fromEntries(await Promise.all(services)),
    redis: await withRedis(fleet, heldInRedis),
    ...(await heldInNats(fleet)),
    cpuMsPerSecond: Object.fromEntries(cpu),
  };
}

/** How long readings of memory and the removal of sandboxes may take. */
const MAX_WAIT_MS = 900_000;

/** Until no slot is used and no work waits. @throws Error with what is left after a quarter of an hour */
async function untilAtRest(fleet: Fleet): Promise<void> {
  const deadlineMs = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const slots = sum(await Promise.all(SERVICES.map(async (name) => slotsIn(await metricsOf(fleet, name)))));
    const queued = await withRedis(fleet, (redis) =>
      redis.use(
        async (client) => (await client.zcard(redis.keys.pending)) + (await client.zcard(redis.keys.memoryQueue)),
      ),
    );
    if (slots + queued === 0) return;
    if (performance.now() > deadlineMs) throw new Error(`${slots} slots are used, and ${queued} entries wait`);
    await sleep(500);
  }
}

export async function withRedis<Result>(
  { redisUrl }: Pick<Fleet, 'redisUrl'>,
  use: (redis: RedisConnection) => Promise<Result>,
): Promise<Result> {
  const redis = createRedis({ url: redisUrl });
  try {
    return await use(redis);
  } finally {
    await redis.close();
  }
}

async function metricsOf(fleet: Fleet, service: Service): Promise<string> {
  const url = `http://127.0.0.1:${fleet.process(service).port}/metrics`;
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), headers: { connection: 'close' } });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return await response.text();
}

/** The sum of a metric over its labels. */
export function total(metrics: string, name: string): number {
  const values = metrics.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'));
  return sum([...values].map(([, value]) => Number(value)));
}

const slotsIn = (metrics: string): number => total(metrics, 'caribou_slots_used');

const figureIn = (info: string, name: string): number =>
  Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? Number.NaN);

async function heldInRedis(redis: RedisConnection): Promise<HeldInRedis> {
  const workKeys = (await listKeys(redis)).filter((key) => WORK_KEYS.test(key)).length;
  const bytes = await usedBytes(redis);
  return redis.use(async (client) => {
    const info = await client.info('clients');
    const clients = String(await client.client('LIST'));
    const subscribed = [...clients.matchAll(/ (?:sub|psub|ssub)=(\d+)/g)].map(([, count]) => Number(count));
    return {
      bytes,
      clients: figureIn(info, 'connected_clients'),
      blockedClients: figureIn(info, 'blocked_clients'),
      subscriptions: sum(subscribed),
      workKeys,
    };
  });
}

export const usedBytes = (redis: RedisConnection): Promise<number> =>
  redis.use(async (client) => figureIn(await client.info('memory'), 'used_memory'));

/** Removes the event logs of ended runs, as their deadline of an hour would. */
export async function removeEventLogs(redis: RedisConnection): Promise<void> {
  const logs = (await listKeys(redis)).filter((name) => /^caribou:(?:tasks:)?events:/.test(name));
  for (let at = 0; at < logs.length; at += LOGS_PER_CALL)
    await redis.use((client) => client.del(...logs.slice(at, at + LOGS_PER_CALL)));
}

interface Connections {
  readonly connections: readonly { readonly name?: string; readonly subscriptions: number }[];
}

async function heldInNats({ natsMonitorUrl }: Fleet): Promise<Pick<Held, 'subscriptions' | 'natsMessages'>> {
  const read = async (path: string): Promise<unknown> => {
    const response = await fetch(`${natsMonitorUrl}/${path}`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return await response.json();
  };
  const subscriptions: Record<string, number> = {};
  const { connections } = (await read('connz?limit=1024')) as Connections;
  for (const { name = 'unnamed', subscriptions: count } of connections)
    subscriptions[name] = (subscriptions[name] ?? 0) + count;
  const { messages } = (await read('jsz')) as { readonly messages: number };
  return { subscriptions, natsMessages: messages };
}
