import { FencedError, newId } from '@caribou/contracts';
import type { SlotLimits, TaskParent, TaskSlot, TaskSlots, ThreadKey } from '@caribou/core';
import { admission, type StoreFixture, thread, useStore, waitFor } from '@caribou/testing';
import type { RedisConnection } from '../redis/connection.js';
import { redisTaskSlots } from './task-slots.js';
import { redisThreadStore } from '../thread-store.js';

let store: StoreFixture;
let tasks: RedisConnection;

useStore((opened) => {
  store = opened;
  tasks = store.redis.part('tasks');
});

const WIDE: SlotLimits = { maxRunning: 100, maxRunningPerUser: 100 };
const slotsFor = (leaseMs = 60_000): TaskSlots => redisTaskSlots({ tasks, parents: store.redis, leaseMs });

/** A waiting task; those that are created first have waited longest. */
async function waiting(userId: string): Promise<ThreadKey> {
  const key = thread(userId);
  const pending = await tasks.use((client) => client.zcard(tasks.keys.pending));
  await tasks.use((client) => client.zadd(tasks.keys.pending, pending, `${userId}/${key.threadId}`));
  return key;
}

async function waitingAll(...userIds: readonly string[]): Promise<readonly ThreadKey[]> {
  const keys: ThreadKey[] = [];
  for (const userId of userIds) keys.push(await waiting(userId));
  return keys;
}

/** Changes the pending set as the end of a run does. */
const ended = ({ userId, threadId }: ThreadKey) =>
  tasks.use((client) => client.zrem(tasks.keys.pending, `${userId}/${threadId}`));

async function taken(slots: TaskSlots, limits: SlotLimits = WIDE): Promise<TaskSlot> {
  const slot = await slots.acquire(limits);
  if (slot === null) throw new Error('no slot was given');
  return slot;
}

/** The store's clock, in milliseconds. */
const storeNow = (): Promise<number> =>
  tasks.use(async (client) => {
    const [seconds, micros] = await client.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  });

const allLapsed = () =>
  waitFor(
    async () => {
      const nowMs = await storeNow();
      return (await tasks.use((client) => client.zcount(tasks.keys.slots, `(${nowMs}`, '+inf'))) === 0;
    },
    { what: 'the slot to lapse', everyMs: 2 },
  );

/** Sets the end of the slot's lease to `endMs`. */
const lapse = ({ userId, threadId }: TaskSlot, endMs: number) =>
  tasks.use((client) => client.zadd(tasks.keys.slots, 'XX', endMs, `${userId}/${threadId}`));

const keyOf = ({ userId, threadId }: ThreadKey): ThreadKey => ({ userId, threadId });
const usersOf = (taking: readonly ThreadKey[]): string => taking.map(({ userId }) => userId).join(' ');
const noParent = { userId: 'alice', runId: newId() };

async function takenOneByOne(slots: TaskSlots, count: number, limits: SlotLimits = WIDE): Promise<TaskSlot[]> {
  const all: TaskSlot[] = [];
  for (let at = 0; at < count; at += 1) all.push(await taken(slots, limits));
  return all;
}

describe('the next slot goes to', () => {
  test('the task of a user that has waited longest', async () => {
    const keys = await waitingAll('alice', 'alice', 'alice');

    expect((await takenOneByOne(slotsFor(), 3)).map(keyOf)).toEqual(keys);
    expect(await slotsFor().acquire(WIDE)).toBeNull();
  });

  test('the user with the fewest running tasks, however many tasks the others have waiting', async () => {
    await waitingAll('alice', 'alice', 'alice', 'alice', 'bob', 'bob', 'carol');

    expect(usersOf(await takenOneByOne(slotsFor(), 7))).toBe('alice bob carol alice bob alice alice');
  });

  test('the user who has fewer slots, when a slot is released', async () => {
    const slots = slotsFor();
    const limits = { maxRunning: 4, maxRunningPerUser: 100 };
    await waitingAll('alice', 'alice', 'alice', 'alice', 'alice', 'alice');
    const early = await takenOneByOne(slots, 4, limits);
    await waitingAll('bob', 'bob', 'bob');

    const after: TaskSlot[] = [];
    for (const slot of early.slice(0, 3)) {
      await ended(slot);
      await slots.release(slot);
      after.push(await taken(slots, limits));
    }

    expect(usersOf(after)).toBe('bob bob alice');
  });

  test('a task whose pool died before all others, in the order of the deaths', async () => {
    const keys = await waitingAll('alice', 'alice', 'bob');
    const [first, second] = await takenOneByOne(slotsFor(), 2);
    if (first === undefined || second === undefined) throw new Error('no two slots');
    await lapse(second, 1);
    await lapse(first, 2);

    const [next, then, last] = await takenOneByOne(slotsFor(), 3);

    expect([next, then].map((slot) => slot && keyOf(slot))).toEqual([keyOf(second), keyOf(first)]);
    expect(last?.threadId).toBe(keys[1]?.threadId);
  });

  test('a task that was released before its end', async () => {
    const slots = slotsFor();
    await waitingAll('alice', 'bob', 'carol');
    const [, second] = await takenOneByOne(slots, 2);
    if (second === undefined) throw new Error('no second slot');

    await slots.release(second);

    expect(keyOf(await taken(slots))).toEqual(keyOf(second));
  });

  test('no task of a user at the limit, even if its pool died', async () => {
    const limits = { maxRunning: 10, maxRunningPerUser: 1 };
    await waitingAll('alice', 'alice', 'bob');
    const slots = slotsFor();
    const held = await taken(slots);
    const bobs = await taken(slots);
    expect(bobs.userId).toBe('bob');
    await ended(bobs);
    const orphan = await taken(slots);
    await lapse(orphan, 1);

    expect(await slots.acquire(limits)).toBeNull();
    await waiting('bob');
    expect((await taken(slots, limits)).userId).toBe('bob');
    await ended(held);

    expect(keyOf(await taken(slots, limits))).toEqual(keyOf(orphan));
  });
});

describe('limits', () => {
  test('hold under many takers at once, over all users and for each', async () => {
    const limits = { maxRunning: 8, maxRunningPerUser: 3 };
    await waitingAll(...Array.from({ length: 60 }, (_, at) => `user-${at % 4}`));
    const pools = Array.from({ length: 6 }, () => slotsFor());

    const all = await Promise.all(pools.flatMap((pool) => Array.from({ length: 7 }, () => pool.acquire(limits))));
    const given = all.filter((slot) => slot !== null);

    expect(given).toHaveLength(8);
    expect(new Set(given.map(({ threadId }) => threadId)).size).toBe(8);
    expect(new Set(given.map(({ token }) => token)).size).toBe(8);
    const counts = new Map<string, number>();
    for (const { userId } of given) counts.set(userId, (counts.get(userId) ?? 0) + 1);
    expect([...counts.values()]).toEqual([2, 2, 2, 2]);
  });

  test('the limit of a user lets tasks of others pass, however far back in the queue they are', async () => {
    const limits = { maxRunning: 100, maxRunningPerUser: 2 };
    await waitingAll(...Array.from({ length: 450 }, () => 'alice'), 'bob');

    expect(usersOf(await takenOneByOne(slotsFor(), 3, limits))).toBe('alice bob alice');
    expect(await slotsFor().acquire(limits)).toBeNull();
  });

  test('a task that ended has no slot, whether or not the slot was released', async () => {
    const slots = slotsFor();
    const limits = { maxRunning: 1, maxRunningPerUser: 1 };
    await waitingAll('alice', 'alice', 'alice');
    const first = await taken(slots, limits);
    expect(await slots.acquire(limits)).toBeNull();
    await ended(first);

    const second = await taken(slots, limits);
    expect(second.threadId).not.toBe(first.threadId);
    await ended(second);
    await slots.release(second);

    expect((await taken(slots, limits)).threadId).not.toBe(second.threadId);
    const { slots: slotKey, slotTokens } = tasks.keys;
    expect(await tasks.use((client) => Promise.all([client.zcard(slotKey), client.hlen(slotTokens)]))).toEqual([1, 1]);
  });
});

describe('the holder of a slot', () => {
  test('retains it by renewing, beyond the time of one lease', async () => {
    const [slots, others] = [slotsFor(2_000), slotsFor()];
    await waiting('alice');
    const slot = await taken(slots);
    const firstEndMs = (await storeNow()) + 2_000;

    await waitFor(
      async () => {
        await slots.renew(slot, noParent);
        return (await storeNow()) > firstEndMs;
      },
      { what: 'the end of the first lease' },
    );

    expect(await others.acquire(WIDE)).toBeNull();
  });

  test('renews it also after it lapsed, and has lost it once another took it', async () => {
    const slots = slotsFor(1);
    await waiting('alice');
    const slot = await taken(slots);
    await allLapsed();

    await expect(slots.renew(slot, noParent)).resolves.toBe('gone');
    await allLapsed();
    expect(keyOf(await taken(slotsFor()))).toEqual(keyOf(slot));
    await expect(slots.renew(slot, noParent)).rejects.toThrow(FencedError);
  });

  test('has it for one lease at most after the clock of Redis went back', async () => {
    const slots = slotsFor(60_000);
    await waiting('alice');
    const slot = await taken(slots);
    await lapse(slot, (await storeNow()) + 3_600_000);

    expect(await slots.acquire(WIDE)).toBeNull();

    const endMs = Number(
      await tasks.use((client) => client.zscore(tasks.keys.slots, `${slot.userId}/${slot.threadId}`)),
    );
    expect(endMs).toBeLessThanOrEqual((await storeNow()) + 60_000);
  });

  test.each(['renew', 'leave'] as const)(
    'is the only one that can %s it: a foreign token changes nothing',
    async (act) => {
      const slots = slotsFor();
      await waiting('alice');
      const slot = await taken(slots);
      const before = await store.dump();
      const foreign = { ...slot, token: newId() };

      if (act === 'leave') await slots.release(foreign);
      else await expect(slots.renew(foreign, noParent)).rejects.toThrow(FencedError);

      expect(await store.dump()).toEqual(before);
      await expect(slots.renew(slot, noParent)).resolves.toBe('gone');
    },
  );

  test('cannot release a slot that another has taken since', async () => {
    const late = slotsFor(1);
    await waiting('alice');
    const old = await taken(late);
    await allLapsed();
    const slots = slotsFor();
    const current = await taken(slots);

    await late.release(old);

    expect(await slots.acquire(WIDE)).toBeNull();
    await expect(slots.renew(current, noParent)).resolves.toBe('gone');
  });
});

describe('the state of the parent', () => {
  async function standing(parent: TaskParent): Promise<string> {
    await waiting('alice');
    const slots = slotsFor();
    const told = await slots.renew(await taken(slots), parent);
    expect(await slots.parentState(parent)).toBe(told);
    return told;
  }

  test('is returned by each renewal, and without a slot: live, over once it is asked to stop or ended, gone without a record', async () => {
    const threads = redisThreadStore(store.redis);
    const key = thread();
    const run = await store.admit(key);
    const parent = { userId: 'alice', runId: run.run_id };
    expect(await standing(parent)).toBe('live');
    const claimed = await store.claim(key);
    expect(await standing(parent)).toBe('live');

    await threads.requestCancel(key, run.run_id, 'interrupt');
    expect(await standing(parent)).toBe('over');
    await store.finish(claimed, { status: 'interrupted' });
    expect(await standing(parent)).toBe('over');

    const other = await store.turn(thread(), {});
    expect(await standing({ userId: 'alice', runId: other.run.run_id })).toBe('over');
    expect(await standing({ userId: 'bob', runId: run.run_id })).toBe('gone');
    await threads.deleteThread(key);
    expect(await standing(parent)).toBe('gone');
  });

  test('is read from the parents: a task of the same id has no effect', async () => {
    const inTasks = redisThreadStore(tasks);
    const key = thread();
    const runId = newId();
    await inTasks.admit({ ...admission(key), runId });
    await ended(key);
    expect(await standing({ userId: 'alice', runId })).toBe('gone');
  });
});
