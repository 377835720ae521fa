import { type StoreFixture, thread, human, useStore } from '@caribou/testing';
import type { ThreadKey } from '@caribou/core';
import { readRunQueue, readWaitingRuns } from './run-queue.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

const MINUTE_MS = 60_000;

/** Sets when the thread became pending and when its run was written last, in milliseconds before now. */
async function setAges(key: ThreadKey, runId: string, { pendingMs, writtenMs }: Record<string, number>): Promise<void> {
  const { redis } = store;
  const [nowMs, run] = [Date.now(), redis.keys.runPrefix(key.userId) + runId];
  await redis.use(async (client) => {
    await client.zadd(redis.keys.pending, 'XX', nowMs - (pendingMs ?? 0), `${key.userId}/${key.threadId}`);
    await client.hset(run, 'updated_at', new Date(nowMs - (writtenMs ?? 0)).toISOString());
  });
}

const minutes = (ms: number): number => Math.round(ms / MINUTE_MS);

describe('readRunQueue', () => {
  test('is empty for a store without runs, and when each run has an owner', async () => {
    expect(await readRunQueue(store.redis)).toEqual({ length: 0, oldestWaitMs: 0 });

    const key = thread();
    await store.admit(key);
    await store.claim(key);
    expect(await readRunQueue(store.redis)).toEqual({ length: 0, oldestWaitMs: 0 });
  });

  test('counts the threads without an owner and shows the longest wait of their runs', async () => {
    const [taken, long, short] = [thread('alice'), thread('bob'), thread('carol')];
    for (const [key, ms] of [
      [taken, 9],
      [long, 5],
      [short, 2],
    ] as const) {
      const { run_id } = await store.admit(key);
      await setAges(key, run_id, { pendingMs: ms * MINUTE_MS, writtenMs: ms * MINUTE_MS });
    }
    await store.claim(taken);

    const { length, oldestWaitMs } = await readRunQueue(store.redis);
    expect([length, minutes(oldestWaitMs)]).toEqual([2, 5]);
  });

  test('measures a queued run from its own admission, however long its thread has been pending', async () => {
    const key = thread();
    await store.admit(key);
    const second = await store.admit(key);
    await store.finish(await store.claim(key), {});
    await setAges(key, second.run_id, { pendingMs: 60 * MINUTE_MS, writtenMs: 3 * MINUTE_MS });

    expect(minutes((await readRunQueue(store.redis)).oldestWaitMs)).toBe(3);
  });

  test('counts a run whose owner was lost, since its last commit', async () => {
    const key = thread();
    const { run_id } = await store.admit(key);
    await store.step(await store.claim(key), { messages: [human('hi')] });
    await store.redis.use((client) => client.del(store.redis.keys.thread(key).lease));
    await setAges(key, run_id, { pendingMs: 60 * MINUTE_MS, writtenMs: 4 * MINUTE_MS });

    const { length, oldestWaitMs } = await readRunQueue(store.redis);
    expect([length, minutes(oldestWaitMs)]).toEqual([1, 4]);
  });

  test('is read from damaged records too', async () => {
    const key = thread();
    await store.admit(key);
    const { record } = store.redis.keys.thread(key);
    await store.redis.use((client) => client.set(record, 'text'));

    expect((await readRunQueue(store.redis)).length).toBe(1);
  });
});

describe('readWaitingRuns', () => {
  test('lists the threads that wait longest, counts users, and those that run', async () => {
    const threads = [thread('alice'), thread('bob'), thread('alice'), thread('carol')];
    for (const [index, key] of threads.entries()) {
      const { run_id } = await store.admit(key);
      const waitMs = (9 - index) * MINUTE_MS;
      await setAges(key, run_id, { pendingMs: waitMs, writtenMs: waitMs });
    }
    const [first, second, third, running] = threads as [ThreadKey, ThreadKey, ThreadKey, ThreadKey];
    await store.claim(running);

    const { longest, ...counts } = await readWaitingRuns(store.redis, 2);
    expect(counts).toEqual({
      length: 3,
      oldestWaitMs: longest[0]?.waitMs,
      running: 1,
      users: [
        { userId: 'alice', waiting: 2 },
        { userId: 'bob', waiting: 1 },
      ],
      isWhole: true,
    });
    expect(longest.map(({ userId, threadId, waitMs }) => [userId, threadId, minutes(waitMs)])).toEqual([
      ['alice', first.threadId, 9],
      ['bob', second.threadId, 8],
    ]);
    expect((await readWaitingRuns(store.redis, 50)).longest.map(({ threadId }) => threadId)).toEqual(
      [first, second, third].map(({ threadId }) => threadId),
    );
  });

  test('is empty for a store without runs', async () => {
    const nothing = { length: 0, oldestWaitMs: 0, running: 0, users: [], longest: [], isWhole: true };
    expect(await readWaitingRuns(store.redis, 50)).toEqual(nothing);
  });
});
