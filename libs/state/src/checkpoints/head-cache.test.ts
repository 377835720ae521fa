import { newId, type StateUpdate } from '@caribou/contracts';
import { applyUpdate, type ThreadKey } from '@caribou/core';
import { ai, human, type StoreFixture, thread, useStore } from '@caribou/testing';
import fc from 'fast-check';
import type { RunStore, ThreadHead } from '../ports/run-store.js';
import { redisRunStore } from '../runs/run-store.js';
import { redisThreadStore } from '../thread-store.js';
import { HeadCache } from './head-cache.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

const runnerWithCache = (): RunStore => redisRunStore(store.redis, { heads: new HeadCache(1_000_000) });

async function claim(runs: RunStore, key: ThreadKey) {
  const claimed = await runs.claim(key, newId());
  if (claimed.kind !== 'run') throw new Error(`the claim answered ${claimed.kind}`);
  return claimed;
}

/** Executes a turn with a first commit and an end that writes a last one; returns the head that the claim got. */
async function turnBy(runs: RunStore, key: ThreadKey, update: StateUpdate, rollback = false): Promise<ThreadHead> {
  await store.admit(key);
  const { lease, head } = await claim(runs, key);
  const request = { next: [], source: 'loop', step: 1, events: [] } as const;
  const { head: committed } = await runs.commit(lease, { ...request, head, state: applyUpdate(head.state, update) });
  const state = applyUpdate(committed.state, { messages: [ai('last')] });
  await runs.finish(lease, {
    status: 'success',
    rollback,
    events: [],
    ...(rollback ? {} : { commit: { ...request, head: committed, state } }),
  });
  return head;
}

/** The state that a process without a cache reads. */
const storedState = async (key: ThreadKey) => (await redisThreadStore(store.redis).head(key))?.state;

describe('HeadCache', () => {
  test('spares a runner and a gateway the entries that they have, and only these', async () => {
    const key = thread();
    const runs = runnerWithCache();
    await turnBy(runs, key, { messages: [human('one')], title: 'first' });
    const threads = redisThreadStore(store.redis, { heads: new HeadCache(1_000_000) });
    const before = await threads.head(key);
    // What a process does not ask for may be missing.
    await store.redis.use((client) => client.hdel(store.redis.keys.thread(key).log, '1', 'c1'));

    const head = await turnBy(runs, key, { messages: [human('two')], title: 'second' });

    expect(head.state).toEqual(before?.state);
    const after = await threads.head(key);
    expect(after?.state.messages).toHaveLength(4);
    expect(after?.state.title).toBe('second');
    await expect(redisThreadStore(store.redis).head(key)).rejects.toThrow('not in the log');
  });

  test('is never believed after another runner wrote, rolled back or a client wrote', async () => {
    const key = thread();
    const [one, two] = [runnerWithCache(), runnerWithCache()];
    await turnBy(one, key, { messages: [human('a')] });
    await turnBy(two, key, { messages: [human('b'), ai('changed', 'm1')] });
    expect((await turnBy(one, key, { messages: [human('c')] }, true)).state).toEqual(await storedState(key));
    await store.threads.updateState(key, { messages: [human('from a client')] });
    const expected = await storedState(key);

    expect((await turnBy(two, key, { messages: [ai('again', 'm1')] })).state).toEqual(expected);
    const later = await storedState(key);
    expect((await turnBy(one, key, {})).state).toEqual(later);
  });

  test('is not used for a thread that was deleted and created again', async () => {
    const key = thread();
    const runs = runnerWithCache();
    await turnBy(runs, key, { messages: [human('old')] });
    await store.threads.deleteThread(key);
    await store.filesGone(key);
    await turnBy(redisRunStore(store.redis), key, { messages: [human('new')] });
    const expected = await storedState(key);

    expect((await turnBy(runs, key, {})).state).toEqual(expected);
  });

  test('gives every process what is stored, after any sequence of writes', async () => {
    const step = fc.record({
      by: fc.integer({ min: 0, max: 2 }),
      update: fc.constantFrom<StateUpdate>(
        { messages: [human('new')] },
        { messages: [ai('answer', 'same')] },
        { messages: [{ type: 'remove', id: 'same' }] },
        { title: 'a title', messages: [ai('more')] },
        {},
      ),
      rollback: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
        const key = thread();
        const runners = [runnerWithCache(), runnerWithCache()];
        const reader = redisThreadStore(store.redis, { heads: new HeadCache(1_000_000) });
        for (const { by, update, rollback } of steps) {
          const runner = runners[by];
          const expected = await store.threads.head(key).catch(() => null);
          if (runner === undefined && expected !== null) await store.threads.updateState(key, update);
          else if (runner !== undefined) {
            const head = await turnBy(runner, key, update, rollback);
            expect(head.state).toEqual(expected?.state ?? { messages: [] });
          }
          if (by === 1) expect((await reader.head(key))?.state).toEqual(await storedState(key));
        }
      }),
      { numRuns: 25 },
    );
  });

  test('holds no more than its bytes, and neither a state that would fill it nor a small one', async () => {
    const heads = new HeadCache(40_000, 5_000);
    const runs = redisRunStore(store.redis, { heads });
    for (let index = 0; index < 12; index += 1) await turnBy(runs, thread(), { messages: [human('x'.repeat(2_000))] });
    const [large, small] = [thread(), thread()];
    await turnBy(runs, small, { messages: [human('x')] });
    await turnBy(runs, large, { messages: [human('x'.repeat(8_000))] });

    expect(heads.bytes.used()).toBeGreaterThan(20_000);
    expect(heads.bytes.used()).toBeLessThanOrEqual(heads.bytes.limit);
    for (const key of [large, small]) expect(heads.get(key)).toBeUndefined();
  });
});
