import { newId } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { type StoreFixture, thread, useStore } from '@caribou/testing';
import type { RunLease } from '../ports/run-store.js';
import type { TurnShares } from '../ports/turn-queue.js';
import { redisRunStore } from '../runs/run-store.js';
import { redisTurnQueue } from './turn-queue.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

const queueWith = (shares: Partial<TurnShares> = {}) =>
  redisTurnQueue(store.redis, { maxRunningPerUser: 0, weights: {}, ...shares });

/** Threads with an admitted run, in the queue. */
async function waiting(...userIds: readonly string[]): Promise<readonly ThreadKey[]> {
  const keys = userIds.map((userId) => thread(userId));
  for (const key of keys) {
    await store.admit(key);
    await queueWith().enqueue(key);
  }
  return keys;
}

const times = (count: number, userId: string): readonly string[] => Array.from({ length: count }, () => userId);

/** Takes slots one after the other; the users who get them. */
async function takenBy(count: number, queue = queueWith()): Promise<string> {
  const users: string[] = [];
  for (let at = 0; at < count; at += 1) users.push((await queue.take())?.userId ?? '-');
  return users.join(' ');
}

describe('the next free slot goes to', () => {
  test('the thread of a user that waited longest, once', async () => {
    const keys = await waiting('alice', 'alice', 'alice');
    await queueWith().enqueue(keys[0] ?? thread());

    const taken = [await queueWith().take(), await queueWith().take(), await queueWith().take()];

    expect(taken).toEqual(keys);
    expect(await queueWith().take()).toBeNull();
  });

  test('users in turn, however many threads each of them has', async () => {
    await waiting(...times(200, 'alice'), ...times(3, 'bob'), 'carol');

    expect(await takenBy(8)).toBe('alice bob carol alice bob alice bob alice');
  });

  test('a user who comes later before those who had slots, and not to him again before they had theirs', async () => {
    await waiting(...times(10, 'alice'), ...times(10, 'bob'));
    expect(await takenBy(5)).toBe('alice bob alice bob alice');

    const order: string[] = [];
    for (let at = 0; at < 6; at += 1) {
      await waiting('carol');
      order.push(await takenBy(1));
    }

    expect(order.join(' ')).toBe('bob carol alice bob carol alice');
  });

  test.each(['aaron', 'zoe'])('%s, who comes seldom, and not to the user who always waits', async (seldom) => {
    await waiting(...times(20, 'many'));
    const order: string[] = [await takenBy(2)];
    for (let at = 0; at < 4; at += 1) {
      await waiting(seldom);
      order.push(await takenBy(3));
    }

    expect(order).toEqual(['many many', ...times(4, `${seldom} many many`)]);
  });

  test('a user who waits, also while a new one comes before each slot', async () => {
    await waiting(...times(20, 'many'));
    const order: string[] = [];
    for (let at = 0; at < 60; at += 1) {
      await waiting(`new-${String(at).padStart(2, '0')}`);
      order.push(await takenBy(1));
    }

    const slots = order.flatMap((user, at) => (user === 'many' ? [at] : []));
    expect(slots.length).toBeGreaterThanOrEqual(3);
    expect(slots[1]).toBeLessThan(10);
    // Nobody of the others is forgotten.
    expect(new Set(order.slice(0, 40)).size).toBeGreaterThan(30);
  });

  test('a user as often as his weight says', async () => {
    await waiting(...times(20, 'alice'), ...times(20, 'bob'));

    const users = (await takenBy(16, queueWith({ weights: { alice: 3 } }))).split(' ');

    expect(users.filter((user) => user === 'alice')).toHaveLength(12);
    expect(users.slice(0, 5)).toContain('bob');
  });

  test('an interrupted run at once, and to no thread that is owned or has nothing to run', async () => {
    const [left, owned, over, next] = await waiting('alice', 'bob', 'carol', 'dora');
    if (left === undefined || owned === undefined || over === undefined) throw new Error('no threads');
    const { lease } = await store.claim(left);
    await store.runs.handOver(lease);
    await store.claim(owned);
    await store.finish(await store.claim(over));

    expect(await queueWith().take(left)).toEqual(left);
    expect([await queueWith().take(owned), await queueWith().take(over)]).toEqual([next, null]);
  });

  test('a thread that a caller knows of and that is not in the queue', async () => {
    const key = thread();
    await store.admit(key);

    expect(await queueWith().take()).toBeNull();
    expect(await queueWith().take(key)).toEqual(key);
  });
});

test('the end of a run says whether a thread waits for a slot', async () => {
  const ends: RunLease[] = [];
  for (const key of [thread(), thread(), thread()]) {
    await store.admit(key);
    ends.push((await store.claim(key)).lease);
  }
  const end = async () => {
    const lease = ends.pop();
    if (lease === undefined) throw new Error('no run is left');
    return (await store.finish({ lease })).queueIsEmpty;
  };
  expect(await end()).toBe(true);
  await waiting('alice');
  expect(await end()).toBe(false);
  // Her thread has a slot; she stays in the order until somebody looks for the next one.
  expect([await queueWith().take(), await queueWith().take()]).toEqual([expect.anything(), null]);
  expect(await end()).toBe(true);
});

describe('a limit of running threads', () => {
  const limited = { maxRunningPerUser: 2 };
  const runners = () => redisRunStore(store.redis, limited);
  const queue = () => queueWith(limited);

  /** Takes the next slot and claims its thread. */
  async function start(): Promise<RunLease> {
    const key = await queue().take();
    if (key === null) throw new Error('no slot was given');
    return claim(key);
  }

  async function claim(key: ThreadKey): Promise<RunLease> {
    const claimed = await runners().claim(key, newId());
    if (claimed.kind !== 'run') throw new Error(`the claim answered ${claimed.kind}`);
    return claimed.lease;
  }

  const end = (lease: RunLease) => runners().finish(lease, { status: 'success', events: [] });

  test('passes a user over until one of his runs ends, and his runner then takes the next one', async () => {
    const keys = await waiting(...times(4, 'alice'), 'bob');
    const [first, , second] = [await start(), await start(), await start()];
    expect(await queue().take()).toBeNull();
    expect(second.userId).toBe('alice');

    expect((await end(first)).more).toBe(true);

    expect(await queue().take()).toEqual(keys[2]);
    expect(await queue().take()).toBeNull();
  });

  test('counts a slot that was given before its claim, and threads that were claimed without the queue', async () => {
    const direct = thread('alice');
    await store.admit(direct);
    await claim(direct);
    await waiting('alice', 'alice');

    expect(await takenBy(2, queue())).toBe('alice -');
  });

  test('refuses the claim of a thread that nobody gave a slot, and leaves its runs in order', async () => {
    await waiting('alice', 'alice');
    await Promise.all([start(), start()]);
    const key = thread('alice');
    const [first, second] = [await store.admit(key), await store.admit(key)];

    expect(await runners().claim(key, newId())).toEqual({ kind: 'capped' });

    expect(await queue().take(key)).toBeNull();
    const runs = await store.threads.listRuns(key, { limit: 10, offset: 0 });
    expect(runs.map(({ status }) => status)).toEqual(['pending', 'pending']);
    expect((await store.claim(key)).run.run_id).toBe(first.run_id);
    expect(runs.map(({ run_id }) => run_id)).toContain(second.run_id);
  });

  test('does not hold back the run of a dead runner, which counts all the time', async () => {
    await waiting('alice', 'alice', 'alice');
    const [dead] = [await start(), await start()];
    await store.redis.use((client) => client.del(store.redis.keys.thread(dead).lease));

    expect(await queue().take()).toBeNull();
    expect(await queue().take({ userId: dead.userId, threadId: dead.threadId })).toMatchObject({
      threadId: dead.threadId,
    });
    await claim(dead);
    expect(await queue().take()).toBeNull();
  });

  test('finds out that runs were ended by a runner that does not count them', async () => {
    await waiting('alice', 'alice', 'alice');
    const leases = [await start(), await start()];
    expect(await queue().take()).toBeNull();
    for (const lease of leases) await store.runs.finish(lease, { status: 'success', events: [] });
    // Then nothing says that he may run again, and his turn comes with the next look at him.
    await store.redis.use((client) => client.zadd(store.redis.keys.turns.capped, 1, 'alice'));

    expect(await takenBy(2, queue())).toBe('alice -');
  });

  test('of ten users does not stop another one', async () => {
    const users = Array.from({ length: 10 }, (_, index) => `user-${index}`);
    await waiting(...users, ...users, ...users);
    for (let at = 0; at < 20; at += 1) await start();
    expect(await queue().take()).toBeNull();

    await waiting('zoe');

    expect(await takenBy(2, queue())).toBe('zoe -');
  });

  test('leaves nothing behind when all runs have ended', async () => {
    await waiting(...times(3, 'alice'), ...times(3, 'bob'));
    for (let at = 0; at < 6; at += 1) await end(await start());
    await queue().take();

    expect((await store.keys()).filter((key) => /:turns:|:waiting$|:running$/.test(key))).toEqual([]);
  });
});

describe('damage', () => {
  test("of a user's keys is an error for him and holds back nobody else", async () => {
    const [damaged] = await waiting('alice', 'bob');
    const { waiting: key } = store.redis.keys.turnsOf('alice');
    await store.redis.use((client) => client.set(key, 'text'));

    await expect(queueWith().enqueue(damaged ?? thread())).rejects.toThrow('foreign type');
    await expect(queueWith().take(damaged)).rejects.toThrow('foreign type');
    expect(await takenBy(2)).toBe('bob -');
  });
});
