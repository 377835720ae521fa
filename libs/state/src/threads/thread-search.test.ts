import { human, type StoreFixture, thread, useStore } from '@caribou/testing';
import { idsFound, nextMillisecond, search } from '../testing/search-threads.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

describe('search', () => {
  test('newest first with the total, page by page, each thread with its values, and only the owner’s', async () => {
    const keys = [thread(), thread(), thread()];
    for (const [index, key] of keys.entries()) {
      await store.turn(key, { title: `t${index}`, messages: [human('a')] });
      await nextMillisecond(store);
    }
    await store.turn(thread('bob'), { title: 'bob' });
    const [a, b, c] = keys.map((key) => key.threadId);

    expect(await store.threads.searchThreads(search({ limit: 2 }))).toMatchObject({
      total: 3,
      threads: [{ thread_id: c, values: { title: 't2' } }, { thread_id: b }],
    });
    expect(await idsFound(store, search({ limit: 2, offset: 2 }))).toEqual([a]);
    expect(await idsFound(store, search({ sortOrder: 'asc', sortBy: 'created_at' }))).toEqual([a, b, c]);
    expect(await idsFound(store, search({ sortBy: 'thread_id', sortOrder: 'asc' }))).toEqual(
      [...keys.map((key) => key.threadId)].sort(),
    );
  });

  test('by ids, status, and contained metadata and values', async () => {
    const [one, two] = [thread(), thread()];
    await store.threads.createThread(one, { kind: 'x', tags: ['a'], deep: { p: 1, q: 2 } });
    await store.threads.createThread(two, { kind: 'x' });
    await nextMillisecond(store);
    await store.threads.updateState(two, { title: 'two' });
    await store.admit(two);

    expect(await idsFound(store, search({ metadata: { kind: 'x' } }))).toEqual([two.threadId, one.threadId]);
    expect(await idsFound(store, search({ metadata: { kind: 'x', tags: ['a'], deep: { p: 1 } } }))).toEqual([
      one.threadId,
    ]);
    expect(await idsFound(store, search({ metadata: { kind: 'y' } }))).toEqual([]);
    expect(await idsFound(store, search({ values: { title: 'two' } }))).toEqual([two.threadId]);
    expect(await idsFound(store, search({ status: 'busy' }))).toEqual([two.threadId]);
    expect(await idsFound(store, search({ ids: [one.threadId, thread().threadId] }))).toEqual([one.threadId]);
    expect(await store.threads.searchThreads(search({ status: 'idle', limit: 0 }))).toEqual({ threads: [], total: 1 });
  });
});
