import type { ThreadKey } from '@caribou/core';
import { admission, type StoreFixture, thread, useStore } from '@caribou/testing';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

describe('the order of the runs of a thread', () => {
  test('numbers runs from 1 in the order of admission, and never again the number of a deleted one', async () => {
    const key = thread();
    expect([await store.threads.noteFollowed(key, 60_000), await store.threads.newestRuns(key, 10)]).toEqual([0, []]);
    const first = await store.admit(key);
    await store.finish(await store.claim(key));
    const second = await store.admit(key);
    const third = await store.admit(key);
    expect([first, second, third].map(({ ordinal }) => ordinal)).toEqual([1, 2, 3]);
    await store.threads.requestCancel(key, third.run_id, 'rollback');
    await store.threads.deleteRun(key, first.run_id);
    const fourth = await store.admit(key);

    expect(await store.threads.newestRuns(key, 10)).toEqual([
      { runId: fourth.run_id, ordinal: 4, status: 'pending' },
      { runId: second.run_id, ordinal: 2, status: 'pending' },
    ]);
    expect(await store.threads.newestRuns(key, 1)).toHaveLength(1);
    expect(await store.threads.noteFollowed(key, 60_000)).toBe(4);
    expect((await store.threads.getRun(key, second.run_id)).ordinal).toBe(2);
  });

  test('a repeated admission gets no number of its own', async () => {
    const key = thread();
    const idempotency = { key: 'k', bodyHash: 'h' };
    expect((await store.admit(key, { idempotency })).ordinal).toBe(1);
    expect((await store.admit(key, { idempotency })).ordinal).toBe(1);
    expect((await store.admit(key)).ordinal).toBe(2);
  });

  test('an admission says whether the thread is followed, also one that creates the thread', async () => {
    const [key, other] = [thread(), thread()];
    await store.threads.noteFollowed(key, 60_000);
    const isFollowed = async (of: ThreadKey) => (await store.threads.admit(admission(of))).isFollowed;

    expect([await isFollowed(key), await isFollowed(key), await isFollowed(other)]).toEqual([true, true, false]);
    const followed = store.redis.keys.followed(key);
    expect(await store.redis.use((client) => client.pttl(followed))).toBeGreaterThan(0);
    await store.redis.use((client) => client.del(followed));
    expect(await isFollowed(key)).toBe(false);
  });

  test('begins after the runs that an earlier version admitted without numbers', async () => {
    const key = thread();
    const runs = [await store.admit(key), await store.admit(key)];
    await store.redis.use(async (client) => {
      await client.hdel(store.redis.keys.thread(key).record, 'admitted');
      for (const { run_id: id } of runs) await client.hdel(store.redis.keys.runPrefix(key.userId) + id, 'ordinal');
    });

    const third = await store.admit(key);

    expect(third.ordinal).toBe(3);
    expect((await store.threads.newestRuns(key, 10)).map(({ ordinal }) => ordinal)).toEqual([3, 2, 1]);
  });

  test('a copied thread continues the numbers of the original', async () => {
    const key = thread();
    await store.turn(key, { title: 'x' });
    const copy = { ...key, threadId: 'copy-of-thread' };
    await store.threads.copyThread(key, copy.threadId);
    expect((await store.admit(copy)).ordinal).toBe(2);
  });
});
