import type { ThreadKey } from '@caribou/core';
import type { TaskSlot } from '../ports/task-slots.js';
import { keyOf, type TaskSlotsFixture, useTaskSlots, WIDE_LIMITS } from '../testing/task-slots-fixture.js';

let fixture: TaskSlotsFixture;

useTaskSlots((opened) => {
  fixture = opened;
});

const usersOf = (taking: readonly ThreadKey[]): string => taking.map(({ userId }) => userId).join(' ');

describe('the next slot goes to', () => {
  test('the task of a user that has waited longest', async () => {
    const keys = await fixture.addAllPending('alice', 'alice', 'alice');

    expect((await fixture.takeOneByOne(fixture.slotsFor(), 3)).map(keyOf)).toEqual(keys);
    expect(await fixture.slotsFor().acquire(WIDE_LIMITS)).toBeNull();
  });

  test('the user with the fewest running tasks, however many tasks the others have waiting', async () => {
    await fixture.addAllPending('alice', 'alice', 'alice', 'alice', 'bob', 'bob', 'carol');

    expect(usersOf(await fixture.takeOneByOne(fixture.slotsFor(), 7))).toBe('alice bob carol alice bob alice alice');
  });

  test('users in turn, where more of them wait than there are slots: ten at their limit do not stop another one', async () => {
    const slots = fixture.slotsFor();
    const limits = { maxRunning: 4, maxRunningPerUser: 100 };
    const ten = Array.from({ length: 10 }, (_, index) => `busy${index}`);
    await fixture.addAllPending(...ten, ...ten, ...ten);
    const served: string[] = [];
    let running = await fixture.takeOneByOne(slots, 4, limits);
    const endOldest = async (): Promise<void> => {
      const [oldest, ...rest] = running;
      if (oldest === undefined) throw new Error('no task has a slot');
      await fixture.endTask(oldest);
      await slots.release(oldest);
      const next = await fixture.take(slots, limits);
      served.push(next.userId);
      running = [...rest, next];
    };
    for (let ended = 0; ended < 8; ended += 1) await endOldest();
    await fixture.addAllPending('quiet', 'quiet');
    for (let ended = 0; ended < 14; ended += 1) await endOldest();

    expect(served.slice(0, 8)).toEqual([...ten.slice(4), ...ten.slice(0, 2)]);
    expect(served.slice(8)).toEqual(['quiet', ...ten.slice(2), ...ten.slice(0, 2), 'quiet', ten[2], ten[3]]);
  });

  test('the user who has fewer slots, when a slot is released', async () => {
    const slots = fixture.slotsFor();
    const limits = { maxRunning: 4, maxRunningPerUser: 100 };
    await fixture.addAllPending('alice', 'alice', 'alice', 'alice', 'alice', 'alice');
    const early = await fixture.takeOneByOne(slots, 4, limits);
    await fixture.addAllPending('bob', 'bob', 'bob');

    const after: TaskSlot[] = [];
    for (const slot of early.slice(0, 3)) {
      await fixture.endTask(slot);
      await slots.release(slot);
      after.push(await fixture.take(slots, limits));
    }

    expect(usersOf(after)).toBe('bob bob alice');
  });

  test('a task whose pool died before all others, in the order of the deaths', async () => {
    const keys = await fixture.addAllPending('alice', 'alice', 'bob');
    const [first, second] = await fixture.takeOneByOne(fixture.slotsFor(), 2);
    if (first === undefined || second === undefined) throw new Error('no two slots');
    await fixture.setLeaseEnd(second, 1);
    await fixture.setLeaseEnd(first, 2);

    const [next, then, last] = await fixture.takeOneByOne(fixture.slotsFor(), 3);

    expect([next, then].map((slot) => slot && keyOf(slot))).toEqual([keyOf(second), keyOf(first)]);
    expect(last?.threadId).toBe(keys[1]?.threadId);
  });

  test('a task that was released before its end', async () => {
    const slots = fixture.slotsFor();
    await fixture.addAllPending('alice', 'bob', 'carol');
    const [, second] = await fixture.takeOneByOne(slots, 2);
    if (second === undefined) throw new Error('no second slot');

    await slots.release(second);

    expect(keyOf(await fixture.take(slots))).toEqual(keyOf(second));
  });

  test('no task of a user at the limit, even if its pool died', async () => {
    const limits = { maxRunning: 10, maxRunningPerUser: 1 };
    await fixture.addAllPending('alice', 'alice', 'bob');
    const slots = fixture.slotsFor();
    const held = await fixture.take(slots);
    const bobs = await fixture.take(slots);
    expect(bobs.userId).toBe('bob');
    await fixture.endTask(bobs);
    const orphan = await fixture.take(slots);
    await fixture.setLeaseEnd(orphan, 1);

    expect(await slots.acquire(limits)).toBeNull();
    await fixture.addPending('bob');
    expect((await fixture.take(slots, limits)).userId).toBe('bob');
    await fixture.endTask(held);

    expect(keyOf(await fixture.take(slots, limits))).toEqual(keyOf(orphan));
  });
});

describe('limits', () => {
  test('hold under many takers at once, over all users and for each', async () => {
    const limits = { maxRunning: 8, maxRunningPerUser: 3 };
    await fixture.addAllPending(...Array.from({ length: 60 }, (_, at) => `user-${at % 4}`));
    const pools = Array.from({ length: 6 }, () => fixture.slotsFor());

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
    await fixture.addAllPending(...Array.from({ length: 450 }, () => 'alice'), 'bob');

    expect(usersOf(await fixture.takeOneByOne(fixture.slotsFor(), 3, limits))).toBe('alice bob alice');
    expect(await fixture.slotsFor().acquire(limits)).toBeNull();
  });

  test('a task that ended has no slot, whether or not the slot was released', async () => {
    const slots = fixture.slotsFor();
    const limits = { maxRunning: 1, maxRunningPerUser: 1 };
    await fixture.addAllPending('alice', 'alice', 'alice');
    const first = await fixture.take(slots, limits);
    expect(await slots.acquire(limits)).toBeNull();
    await fixture.endTask(first);

    const second = await fixture.take(slots, limits);
    expect(second.threadId).not.toBe(first.threadId);
    await fixture.endTask(second);
    await slots.release(second);

    expect((await fixture.take(slots, limits)).threadId).not.toBe(second.threadId);
    const { slots: slotKey, slotTokens } = fixture.tasks.keys;
    expect(await fixture.tasks.use((client) => Promise.all([client.zcard(slotKey), client.hlen(slotTokens)]))).toEqual([
      1, 1,
    ]);
  });
});
