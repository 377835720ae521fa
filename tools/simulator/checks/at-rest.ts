import type { NumberedEvent } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { type RedisConnection, redisTaskSlots, redisTurnQueue, taskPart } from '@caribou/state';
import { LEASE_MS } from '../world/clocks.js';
import type { Workload } from '../world/workload.js';
import type { World } from '../world/world.js';

/** Lease, a sweep, the time that its owner may take to come back, and the sweep that takes it over. */
const TAKEOVER_MS = 10_000 + 15_000 + 2 * 3_500 + 2_000;

/** Finds leases, slots and queued work that remain although everything is at rest. */
export async function findLeftovers(
  world: World,
  { threads }: Workload,
  redis: RedisConnection,
): Promise<readonly string[]> {
  const { history, wakes, taskWakes, sizes } = world;
  const tasks = [...history.accepted.values()].filter(({ parentRunId }) => parentRunId !== undefined);
  const found = [
    ...(await findHeld(redis, threads)),
    ...(await findHeld(taskPart(redis), tasks)).map((line) => `tasks: ${line}`),
    ...(await slotsHeld(redis, sizes.tasks)),
    ...(await turnsLeft(redis, threads, sizes)),
  ];
  // A task that ended without a pool leaves its wake to the next pool.
  const waiting = wakes.waiting + (world.living('pool').length > 0 ? taskWakes.waiting : 0);
  return waiting > 0 ? [...found, `${waiting} wakes are still waiting`] : found;
}

async function findHeld(redis: RedisConnection, threads: readonly ThreadKey[]): Promise<readonly string[]> {
  const { keys } = redis;
  const found: string[] = [];
  const pending = await redis.use((client) => client.zcard(keys.pending));
  if (pending > 0) found.push(`${pending} threads are still pending`);
  for (const thread of threads) {
    const { lease, inFlight } = keys.thread(thread);
    const owner = await redis.use((client) => client.get(lease));
    if (owner !== null) found.push(`thread ${thread.threadId} still has a lease: ${owner}`);
    const runs = await redis.use((client) => client.scard(inFlight));
    if (runs > 0) found.push(`${runs} runs of ${thread.userId} still count as in flight`);
  }
  return found;
}

/** Slots of ended tasks are cleared by the next request for a slot; after that there must be none. */
async function slotsHeld(redis: RedisConnection, limits: World['sizes']['tasks']): Promise<readonly string[]> {
  const tasks = taskPart(redis);
  const { slots, slotTokens } = tasks.keys;
  const taken = await redisTaskSlots({ tasks, parents: redis, leaseMs: LEASE_MS }).acquire(limits);
  const held = await redis.use((client) => client.zcard(slots));
  const tokens = await redis.use((client) => client.hlen(slotTokens));
  if (taken !== null) return [`a task waits for a slot: ${taken.threadId}`];
  return held + tokens > 0 ? [`${held} slots and ${tokens} tokens of slots are left`] : [];
}

/**
 * Entries of the queue of turns without a run are dropped by the next request for one; after that there must be none. A slot that
 * was given to a thread whose run ended before the claim counts for some seconds more.
 */
async function turnsLeft(
  redis: RedisConnection,
  threads: readonly ThreadKey[],
  { maxRunningPerUser }: World['sizes'],
): Promise<readonly string[]> {
  const { keys } = redis;
  const taken = await redisTurnQueue(redis, { maxRunningPerUser, weights: {} }).take();
  if (taken !== null) return [`a thread waits for a slot: ${taken.threadId}`];
  const users = [...new Set(threads.map(({ userId }) => userId))];
  const own = users.map((userId) => keys.turnsOf(userId));
  const running = own.map((key) => key.running);
  const queues = [keys.turns.ready, keys.turns.capped, ...own.map(({ waiting }) => waiting), ...running];
  const counts = await redis.use((client) =>
    Promise.all(queues.map((key) => (running.includes(key) ? client.zcount(key, '+inf', '+inf') : client.zcard(key)))),
  );
  return queues.flatMap((key, index) =>
    (counts[index] ?? 0) > 0 ? [`${counts[index]} entries are left in ${key}`] : [],
  );
}

/** A run whose runner died is taken over in time while another runner lives, even one without a free slot. */
export function takeoverTime({ faults, history }: World): readonly string[] {
  const { longestWaitMs } = history;
  if (faults.on.size > 1 || !faults.on.has('kill') || longestWaitMs <= TAKEOVER_MS) return [];
  return [`the run of a dead runner waited ${Math.round(longestWaitMs / 1000)} s for another one`];
}

/** The start and the end of each task are published once in its parent's run. */
export function findRepeatedTaskEvents(runId: string, events: readonly NumberedEvent[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { event } of events) {
    if (event.kind !== 'custom') continue;
    const { type, task_id: id } = event.data as { readonly type?: string; readonly task_id?: string };
    if (type === undefined || id === undefined || !type.startsWith('task_') || type === 'task_running') continue;
    const name = `${type === 'task_started' ? 'begin' : 'end'} of task ${id}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > 1)
    .map(([name, count]) => `run ${runId}: ${name} was announced ${count} times`);
}
