import { newId, omitUndefined } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { type StoreFixture, thread, useStore } from '@caribou/testing';
import { redisMemoryJobs } from '../memory/jobs/memory-jobs.js';
import type { ProcessOwner } from '../ports/process-registry.js';
import type { RunStore } from '../ports/run-store.js';
import { redisRunStore } from '../runs/run-store.js';
import { MemoryJobsFixture } from '../testing/memory-jobs-fixture.js';
import { TaskSlotsFixture, WIDE_LIMITS } from '../testing/task-slots-fixture.js';
import { redisTaskSlots } from '../tasks/task-slots.js';
import { redisProcessRegistry } from './process-registry.js';

let store: StoreFixture;

useStore(
  (opened) => {
    store = opened;
  },
  { leaseMs: 60_000 },
);

const LEASE_MS = 30_000;
const newOwner = (leaseMs = LEASE_MS): ProcessOwner => ({ processId: newId(), leaseMs });

const registry = (role: 'runs' | 'memory' = 'runs', part = store.redis) => redisProcessRegistry(part, role);

/** Moves the end of a process's lease, and the time since when it has had it, by some milliseconds. */
async function move(owner: ProcessOwner, byMs: { ends?: number; since?: number }, redis = store.redis) {
  for (const role of ['runs', 'memory'] as const) {
    const { ends, since } = redis.keys.processes(role);
    await redis.use((client) => client.zincrby(ends, byMs.ends ?? 0, owner.processId));
    await redis.use((client) => client.hincrby(since, owner.processId, byMs.since ?? 0));
  }
}

/** A process that is alive for longer than one lease, so that it may tell that others are dead. */
async function aged(role: 'runs' | 'memory' = 'runs', redis = store.redis): Promise<ProcessOwner> {
  const owner = newOwner();
  await registry(role, redis).renew(owner);
  await move(owner, { since: -LEASE_MS }, redis);
  return owner;
}

/** A process whose lease has lapsed. */
async function dead(role: 'runs' | 'memory' = 'runs', redis = store.redis): Promise<ProcessOwner> {
  const owner = newOwner();
  await registry(role, redis).renew(owner);
  await move(owner, { ends: -LEASE_MS - 1 }, redis);
  return owner;
}

const runsOf = (process?: ProcessOwner): RunStore =>
  redisRunStore(store.redis, { leaseMs: 60_000, ...omitUndefined({ process }) });

async function claimedBy(owner: ProcessOwner | undefined): Promise<ThreadKey> {
  const key = thread();
  await store.admit(key);
  const claimed = await runsOf(owner).claim(key, newId());
  expect(claimed.kind).toBe('run');
  return key;
}

const kindOf = async (owner: ProcessOwner | undefined, key: ThreadKey): Promise<string> =>
  (await runsOf(owner).claim(key, newId())).kind;

describe('the lease of a process', () => {
  test('counts the living processes and names those that died, until they return or a minute has passed', async () => {
    const [living, other, lapsed, forgotten] = [newOwner(), newOwner(), await dead(), await dead()];
    await move(forgotten, { ends: -60_000 });
    await registry().renew(other);

    expect(await registry().renew(living)).toEqual({ living: 2, dead: [lapsed.processId] });
    expect((await registry().renew(lapsed)).dead).toEqual([]);
    expect((await registry().renew(living)).living).toBe(3);
  });

  test('a released one is neither alive nor dead', async () => {
    const [living, released] = [newOwner(), newOwner()];
    await registry().renew(released);
    await registry().release(released.processId);
    await registry().release(released.processId);

    expect(await registry().renew(living)).toEqual({ living: 1, dead: [] });
  });

  test('lasts one lease at most after the clock of Redis went back', async () => {
    const [living, ahead] = [newOwner(), newOwner()];
    await registry().renew(ahead);
    await move(ahead, { ends: 3_600_000 });
    await registry().renew(living);

    await move(ahead, { ends: -LEASE_MS - 1_000 });
    expect((await registry().renew(living)).dead).toEqual([ahead.processId]);
  });
});

describe('a run whose lease has not lapsed', () => {
  test('is taken over at once when its process is dead', async () => {
    const owner = await aged();
    const former = newOwner();
    const key = await claimedBy(former);
    expect(await kindOf(owner, key)).toBe('busy');

    await move(former, { ends: -LEASE_MS - 1 });

    expect(await runsOf(owner).listOrphans([former.processId], 10)).toMatchObject([{ ...key, interrupted: true }]);
    expect(await runsOf(owner).claim(key, newId())).toMatchObject({ kind: 'run', run: { attempt: 2 } });
    expect(await runsOf(owner).listOrphans([former.processId], 10)).toEqual([]);
  });

  test('is not taken over by a process whose own lease has just been taken: all had lapsed, maybe, while Redis was away', async () => {
    const [young, old] = [newOwner(), await aged()];
    await registry().renew(young);
    const former = newOwner();
    const key = await claimedBy(former);
    await move(former, { ends: -LEASE_MS - 1 });

    expect(await kindOf(young, key)).toBe('busy');
    expect(await kindOf(old, key)).toBe('run');
  });

  test('is not taken over by a process whose own lease has lapsed, nor for one that the registry does not know', async () => {
    const [owner, former] = [await aged(), newOwner()];
    const key = await claimedBy(former);
    await move(former, { ends: -LEASE_MS - 1 });
    await move(owner, { ends: -LEASE_MS - 1 });
    expect(await kindOf(owner, key)).toBe('busy');

    await registry().release(former.processId);
    expect(await kindOf(await aged(), key)).toBe('busy');
  });

  test('belongs to an owner without a process lease until its own lease lapses', async () => {
    const owner = await aged();
    await dead();
    const key = await claimedBy(undefined);

    expect(await kindOf(owner, key)).toBe('busy');
    expect(await kindOf(undefined, key)).toBe('busy');
  });

  test('a claim takes the lease of a process that has none, so that it counts as alive', async () => {
    const [owner, former] = [await aged(), newOwner()];
    const key = await claimedBy(former);

    expect((await registry().renew(owner)).living).toBe(2);
    expect(await kindOf(owner, key)).toBe('busy');
  });
});

describe('a run whose lease has lapsed', () => {
  const lapse = (key: ThreadKey) => store.redis.use((client) => client.del(store.redis.keys.thread(key).lease));

  test('stays with a process whose own lease has lapsed until somebody may tell that it is dead', async () => {
    const [young, former] = [newOwner(), newOwner()];
    const key = await claimedBy(former);
    await lapse(key);
    await move(former, { ends: -LEASE_MS - 1 });
    await registry().renew(young);

    expect(await kindOf(young, key)).toBe('busy');
    expect(await kindOf(await aged(), key)).toBe('run');
  });

  test('stays with a process that has just returned, for the time of a lease', async () => {
    const [owner, former] = [await aged(), newOwner()];
    const key = await claimedBy(former);
    await lapse(key);

    expect(await kindOf(owner, key)).toBe('busy');
    await move(former, { since: -60_000 });
    expect(await kindOf(owner, key)).toBe('run');
  });

  test('is free when its process has left, or when nobody knows of a process', async () => {
    const former = newOwner();
    const [left, unknown] = [await claimedBy(former), await claimedBy(undefined)];
    await Promise.all([lapse(left), lapse(unknown)]);
    await registry().release(former.processId);

    expect(await kindOf(await aged(), left)).toBe('run');
    expect(await kindOf(await aged(), unknown)).toBe('run');
  });
});

describe('a repeated claim', () => {
  test('is the same claim: it counts once, under one epoch, and prolongs the lease', async () => {
    const runs = runsOf(newOwner());
    const [key, claimId] = [thread(), newId()];
    await store.admit(key);
    const first = await runs.claim(key, claimId);

    expect(await runs.claim(key, claimId)).toEqual({ ...first, ranMs: expect.any(Number) });
    expect(first).toMatchObject({ kind: 'run', run: { attempt: 1 }, exhausted: false });
    expect(await runs.claim(key, newId())).toEqual({ kind: 'busy' });
  });

  test('that comes late does not take the run from its owner', async () => {
    const runs = runsOf(newOwner());
    const [key, claimId] = [thread(), newId()];
    await store.admit(key);
    const claimed = await runs.claim(key, claimId);
    if (claimed.kind !== 'run') throw new Error('not claimed');
    await runs.append(claimed.lease, [{ kind: 'custom', data: 1 }], { after: 0, openMessageId: 'm1' });

    await runs.claim(key, claimId);

    await runs.append(claimed.lease, [{ kind: 'custom', data: 2 }], { after: 1 });
    await runs.handOver(claimed.lease);
    expect(await runs.claim(key, newId())).toMatchObject({ run: { attempt: 2, dropped_message_ids: ['m1'] } });
  });
});

/** A task in a slot of the pool `former`, which has no lease of its process, and another pool with one of some age. */
async function takenSlot() {
  const tasks = new TaskSlotsFixture(store);
  const slotsOf = (process: ProcessOwner) =>
    redisTaskSlots({ tasks: tasks.tasks, parents: store.redis, leaseMs: 60_000, process });
  const [owner, former] = [await aged('runs', tasks.tasks), newOwner()];
  const task = await tasks.addPending('alice');
  await tasks.take(slotsOf(former));
  return { tasks, slotsOf, owner, former, task };
}

test('the slot of a task stays with a pool that has just returned, when all leases have lapsed', async () => {
  const { tasks, slotsOf, owner, former, task } = await takenSlot();
  const { slots } = tasks.tasks.keys;
  await tasks.tasks.use((client) => client.zincrby(slots, -60_001, `${task.userId}/${task.threadId}`));

  expect(await slotsOf(owner).acquire(WIDE_LIMITS)).toBeNull();
  await move(former, { since: -60_000 }, tasks.tasks);
  expect(await slotsOf(owner).acquire(WIDE_LIMITS)).toMatchObject(task);
});

test('the slot of a task is given to another pool once the process of its holder is dead', async () => {
  const { tasks, slotsOf, owner, former, task } = await takenSlot();
  expect(await slotsOf(owner).acquire(WIDE_LIMITS)).toBeNull();

  await move(former, { ends: -LEASE_MS - 1 }, tasks.tasks);

  expect(await slotsOf(owner).acquire(WIDE_LIMITS)).toMatchObject(task);
});

test('the extraction of a thread is taken over once the process of its worker is dead', async () => {
  const fixture = new MemoryJobsFixture(store);
  const jobsOf = (process: ProcessOwner) => redisMemoryJobs(store.redis, { debounceMs: 0, leaseMs: 60_000, process });
  const [owner, former] = [await aged('memory'), newOwner()];
  const key = thread();
  await fixture.say(key, 'hello');
  const job = await fixture.take(key, 'w1', jobsOf(former));
  const { userId, threadId, agent } = job.lease;
  expect(await jobsOf(owner).take({ userId, threadId, agent }, 'w2')).toBeNull();

  await move(former, { ends: -LEASE_MS - 1 });

  expect(await jobsOf(owner).orphans([former.processId])).toEqual([{ userId, threadId, agent }]);
  expect(await jobsOf(owner).take({ userId, threadId, agent }, 'w2')).toMatchObject({ lease: { epoch: 2 } });
  await expect(jobsOf(former).renew(job.lease)).rejects.toThrow('lost the lease');
});
