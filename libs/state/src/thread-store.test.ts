import { ConflictError, newId, NotFoundError } from '@caribou/contracts';
import type { ThreadKey, ThreadSearch } from '@caribou/core';
import { ai, human, type StoreFixture, textsOf, thread, useStore } from '@caribou/testing';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

const search = (overrides: Partial<ThreadSearch> = {}): ThreadSearch => ({
  userId: 'alice',
  limit: 10,
  offset: 0,
  sortBy: 'updated_at',
  sortOrder: 'desc',
  ...overrides,
});
const idsFound = async (query: ThreadSearch): Promise<string[]> =>
  (await store.threads.searchThreads(query)).threads.map((found) => found.thread_id);

describe('thread records', () => {
  test('a thread is created once; a second creation returns the first', async () => {
    const key = thread();

    const first = await store.threads.createThread(key, { a: 1 });
    const second = await store.threads.createThread(key, { b: 2 });

    expect(first).toMatchObject({
      created: true,
      record: { thread_id: key.threadId, metadata: { a: 1 }, status: 'idle', values: {}, head: null },
    });
    expect(second).toEqual({ created: false, record: first.record });
    expect(Number.isNaN(Date.parse(first.record.created_at))).toBe(false);
    expect(Math.abs(Date.parse(first.record.created_at) - Date.now())).toBeLessThan(60_000);
  });

  test('metadata is merged per key, with empty lists and big numbers, and may leave updated_at unchanged', async () => {
    const key = thread();
    const { record } = await store.threads.createThread(key, { a: { b: 1 }, keep: [] });

    const quiet = await store.threads.patchThread(key, { pinned: true, n: 12345678901234567 }, { touch: false });
    expect(quiet).toEqual({ ...record, metadata: { a: { b: 1 }, keep: [], pinned: true, n: 12345678901234567 } });

    let touched = await store.threads.patchThread(key, { a: null });
    while (touched.updated_at === record.updated_at) touched = await store.threads.patchThread(key, { a: null });
    expect(touched.metadata).toMatchObject({ a: null, keep: [] });
  });

  test('concurrent patches are all stored', async () => {
    const key = thread();
    await store.threads.createThread(key, {});

    await Promise.all([1, 2, 3, 4].map((n) => store.threads.patchThread(key, { [`k${n}`]: n })));

    expect((await store.threads.getThread(key)).metadata).toEqual({ k1: 1, k2: 2, k3: 3, k4: 4 });
  });

  test('metadata may be written while a run is in flight', async () => {
    const key = thread();
    await store.admit(key);

    expect(await store.threads.patchThread(key, { pinned: true })).toMatchObject({
      status: 'busy',
      metadata: { pinned: true },
    });
  });

  test('a missing thread, or one of another user, is not found by any method', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a')] });

    for (const unknown of [thread(), { ...key, userId: 'bob' }]) {
      const uses = [
        store.threads.getThread(unknown),
        store.threads.patchThread(unknown, {}),
        store.threads.deleteThread(unknown),
        store.threads.copyThread(unknown, newId()),
        store.threads.head(unknown),
        store.threads.checkpoint(unknown, newId()),
        store.threads.history(unknown, { limit: 1 }),
        store.threads.updateState(unknown, { title: 'x' }),
        store.threads.listRuns(unknown, { limit: 1, offset: 0 }),
      ];
      const outcomes = await Promise.allSettled(uses);
      expect(outcomes).toEqual(uses.map(() => ({ status: 'rejected', reason: expect.any(NotFoundError) })));
    }
  });
});

describe('writes without an owner', () => {
  const refusedOn = async (key: ThreadKey): Promise<void> => {
    const uses = [
      store.threads.updateState(key, { title: 'x' }),
      store.threads.deleteThread(key),
      store.threads.copyThread(key, newId()),
    ];
    const outcomes = await Promise.allSettled(uses);
    expect(outcomes).toEqual(uses.map(() => ({ status: 'rejected', reason: expect.any(ConflictError) })));
  };

  test('they are refused while a run is queued, current without an owner, or owned', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a')] });
    const run = await store.admit(key);
    const before = await store.dump();

    await refusedOn(key);
    await expect(store.threads.deleteRun(key, run.run_id)).rejects.toThrow(ConflictError);
    expect(await store.dump()).toEqual(before);

    const claimed = await store.claim(key);
    await refusedOn(key);
    await store.runs.handOver(claimed.lease);
    await refusedOn(key);
    await expect(store.threads.deleteRun(key, run.run_id)).rejects.toThrow(ConflictError);
  });

  test('they are refused while a lease exists', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a')] });
    await store.redis.use((client) => client.set(store.redis.keys.thread(key).lease, 'someone:1'));

    await refusedOn(key);
  });
});

describe('state updates', () => {
  test('an update is a checkpoint of source update on the head, merged by the reducer', async () => {
    const key = thread();
    const [a, b] = [human('a'), ai('b')];
    const { head } = await store.turn(key, { messages: [a, b], title: 't', artifacts: ['/1'] });

    const view = await store.threads.updateState(key, {
      messages: [human('new a', a.id)],
      title: 'u',
      artifacts: ['/2'],
    });

    expect(view).toMatchObject({ parentId: head.checkpointId, metadata: { source: 'update', step: 2 }, next: [] });
    expect(await store.threads.head(key)).toEqual(view);
    expect(textsOf(view.state.messages)).toEqual(['new a', 'b']);
    expect(await store.threads.getThread(key)).toMatchObject({
      values: { title: 'u', artifacts: ['/1', '/2'] },
      head: view.checkpointId,
      status: 'idle',
    });
  });

  test('the first update of a fresh thread makes its first checkpoint', async () => {
    const key = thread();
    await store.threads.createThread(key, {});

    expect(await store.threads.updateState(key, { title: 'x' })).toMatchObject({
      parentId: null,
      metadata: { step: 0 },
      state: { title: 'x', messages: [] },
    });
  });

  test('on an older checkpoint it forks, and the thread continues from there', async () => {
    const key = thread();
    const { head: old } = await store.turn(key, { messages: [human('a')], title: 'old' });
    await store.turn(key, { messages: [human('b')], title: 'new', artifacts: ['/1'] });

    const view = await store.threads.updateState(
      key,
      { messages: [human('c')] },
      { checkpointId: old.checkpointId ?? '' },
    );

    expect(view.parentId).toBe(old.checkpointId);
    expect(textsOf(view.state.messages)).toEqual(['a', 'c']);
    expect((await store.threads.getThread(key)).values).toEqual({ title: 'old' });
    await store.admit(key);
    expect((await store.claim(key)).head.checkpointId).toBe(view.checkpointId);
    await expect(store.threads.updateState(thread(), {}, { checkpointId: newId() })).rejects.toThrow(NotFoundError);
  });

  test('concurrent updates are all stored', async () => {
    const key = thread();
    await store.threads.createThread(key, {});

    await Promise.all([1, 2, 3].map((n) => store.threads.updateState(key, { messages: [human(`${n}`)] })));

    expect(new Set(textsOf((await store.threads.head(key))?.state.messages ?? []))).toEqual(new Set(['1', '2', '3']));
  });

  test.each([
    ['model_request', ['tools']],
    ['tools', ['model_request']],
    ['__start__', ['model_request']],
    ['__end__', []],
    [undefined, []],
  ] as const)('as node %s the thread continues at %j', async (asNode, next) => {
    const key = thread();
    await store.threads.createThread(key, {});
    const call = { ...ai(''), tool_calls: [{ name: 'bash', args: {}, id: 'call_1', type: 'tool_call' as const }] };

    const view = await store.threads.updateState(key, { messages: [call] }, asNode === undefined ? {} : { asNode });

    expect(view.next).toEqual(next);
  });
});

describe('history', () => {
  test('newest first, bounded, before a checkpoint, and by metadata', async () => {
    const key = thread();
    const first = await store.turn(key, { messages: [human('a')] });
    const update = await store.threads.updateState(key, { title: 't' });
    const second = await store.turn(key, { messages: [human('b')] });
    const ids = [second.head.checkpointId, update.checkpointId, first.head.checkpointId];
    const history = async (query: Parameters<typeof store.threads.history>[1]) =>
      (await store.threads.history(key, query)).map((view) => view.checkpointId);

    expect(await history({ limit: 10 })).toEqual(ids);
    expect(await history({ limit: 2 })).toEqual(ids.slice(0, 2));
    expect(await history({ limit: 10, before: update.checkpointId })).toEqual(ids.slice(2));
    expect(await history({ limit: 10, metadata: { run_id: first.run.run_id } })).toEqual([first.head.checkpointId]);
    expect(await history({ limit: 10, metadata: { source: 'update' } })).toEqual([update.checkpointId]);
    expect(await history({ limit: 10, metadata: { source: 'fork' } })).toEqual([]);
    expect(await store.threads.checkpoint(key, update.checkpointId)).toEqual(
      (await store.threads.history(key, { limit: 2 }))[1],
    );
  });

  test('a fresh thread has an empty history and no head', async () => {
    const key = thread();
    await store.threads.createThread(key, {});

    expect(await store.threads.history(key, { limit: 10 })).toEqual([]);
    expect(await store.threads.head(key)).toBeNull();
  });
});

/** Times have milliseconds: waits for the clock of Redis, so that the next one is newer. */
async function nextMillisecond(): Promise<void> {
  const now = async (): Promise<number> => {
    const [seconds, micros] = await store.redis.use((client) => client.time());
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  };
  const first = await now();
  while ((await now()) === first);
}

describe('search', () => {
  test('newest first with the total, page by page, each thread with its values, and only the owner’s', async () => {
    const keys = [thread(), thread(), thread()];
    for (const [index, key] of keys.entries()) {
      await store.turn(key, { title: `t${index}`, messages: [human('a')] });
      await nextMillisecond();
    }
    await store.turn(thread('bob'), { title: 'bob' });
    const [a, b, c] = keys.map((key) => key.threadId);

    expect(await store.threads.searchThreads(search({ limit: 2 }))).toMatchObject({
      total: 3,
      threads: [{ thread_id: c, values: { title: 't2' } }, { thread_id: b }],
    });
    expect(await idsFound(search({ limit: 2, offset: 2 }))).toEqual([a]);
    expect(await idsFound(search({ sortOrder: 'asc', sortBy: 'created_at' }))).toEqual([a, b, c]);
    expect(await idsFound(search({ sortBy: 'thread_id', sortOrder: 'asc' }))).toEqual(
      [...keys.map((key) => key.threadId)].sort(),
    );
  });

  test('by ids, status, and contained metadata and values', async () => {
    const [one, two] = [thread(), thread()];
    await store.threads.createThread(one, { kind: 'x', tags: ['a'], deep: { p: 1, q: 2 } });
    await store.threads.createThread(two, { kind: 'x' });
    await nextMillisecond();
    await store.threads.updateState(two, { title: 'two' });
    await store.admit(two);

    expect(await idsFound(search({ metadata: { kind: 'x' } }))).toEqual([two.threadId, one.threadId]);
    expect(await idsFound(search({ metadata: { kind: 'x', tags: ['a'], deep: { p: 1 } } }))).toEqual([one.threadId]);
    expect(await idsFound(search({ metadata: { kind: 'y' } }))).toEqual([]);
    expect(await idsFound(search({ values: { title: 'two' } }))).toEqual([two.threadId]);
    expect(await idsFound(search({ status: 'busy' }))).toEqual([two.threadId]);
    expect(await idsFound(search({ ids: [one.threadId, thread().threadId] }))).toEqual([one.threadId]);
    expect(await store.threads.searchThreads(search({ status: 'idle', limit: 0 }))).toEqual({ threads: [], total: 1 });
  });
});

describe('copy and delete', () => {
  test('a copy has the same log and history under its own id, and then changes independently', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a'), ai('b')], title: 't' });
    await store.turn(key, { messages: [human('c')] });
    const copyKey = thread();
    await nextMillisecond();

    const copy = await store.threads.copyThread(key, copyKey.threadId);

    const { created_at: _c, updated_at: _u, ...original } = await store.threads.getThread(key);
    expect(copy).toMatchObject({ ...original, thread_id: copyKey.threadId });
    expect(await store.threads.history(copyKey, { limit: 10 })).toEqual(
      await store.threads.history(key, { limit: 10 }),
    );
    expect(await store.threads.listRuns(copyKey, { limit: 10, offset: 0 })).toEqual([]);
    await store.turn(copyKey, { messages: [human('only here')] });
    expect(textsOf((await store.threads.head(key))?.state.messages ?? [])).toEqual(['a', 'b', 'c']);
    expect(textsOf((await store.threads.head(copyKey))?.state.messages ?? [])).toEqual(['a', 'b', 'c', 'only here']);
    await expect(store.threads.copyThread(key, copyKey.threadId)).rejects.toThrow(ConflictError);
    expect(await idsFound(search())).toEqual([copyKey.threadId, key.threadId]);
  });

  test('deleting a thread leaves no key of it', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a')], title: 't' });
    const { head } = await store.turn(key, { messages: [human('b')] });
    await store.threads.updateState(key, { title: 'u' });
    const run = await store.admit(key, { checkpointId: head.checkpointId ?? '' });
    await store.threads.requestCancel(key, run.run_id, 'interrupt');
    await store.admit(key);
    const claimed = await store.claim(key);
    await store.runs.append(claimed.lease, [{ kind: 'custom', data: 1 }]);
    await store.finish(claimed, { status: 'error', error: { name: 'E', message: 'm' } });

    await store.threads.deleteThread(key);
    await store.filesGone(key);

    expect(await store.keys()).toEqual([]);
    await expect(store.threads.deleteThread(key)).rejects.toThrow(NotFoundError);
  });

  test('a deleted run is removed with its events; its checkpoints remain', async () => {
    const key = thread();
    const { run, head } = await store.turn(key, { messages: [human('a')] });

    await store.threads.deleteRun(key, run.run_id);

    await expect(store.threads.getRun(key, run.run_id)).rejects.toThrow(NotFoundError);
    expect((await store.events.read(key.userId, run.run_id, { after: 0, limit: 10 })).lastSeq).toBe(0);
    expect((await store.threads.head(key))?.checkpointId).toBe(head.checkpointId);
  });

  test('a thread that is deleted under a claim is idle for the claimer', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a')] });
    await store.threads.deleteThread(key);

    expect(await store.runs.claim(key, newId())).toEqual({ kind: 'idle' });
  });
});

describe('runs of a thread', () => {
  test('newest first, page by page, by status; a failure shows in run, thread and task', async () => {
    const key = thread();
    const first = await store.turn(key, { messages: [human('a')] });
    const second = await store.admit(key);
    const claimed = await store.claim(key);
    const error = { name: 'ModelError', message: 'no "model"' };
    await store.finish(claimed, {
      status: 'error',
      error,
      stopReason: 'model_failed',
      commit: {
        head: claimed.head,
        state: claimed.head.state,
        next: ['model_request'],
        source: 'loop',
        step: 2,
        events: [],
        error,
      },
      events: [{ kind: 'error', ...error }],
    });
    const third = await store.admit(key);
    const ids = async (query: { limit: number; offset: number; status?: 'success' | 'pending' }) =>
      (await store.threads.listRuns(key, query)).map((run) => run.run_id);

    expect(await ids({ limit: 2, offset: 0 })).toEqual([third.run_id, second.run_id]);
    expect(await ids({ limit: 2, offset: 2 })).toEqual([first.run.run_id]);
    expect(await ids({ limit: 2, offset: 0, status: 'success' })).toEqual([first.run.run_id]);
    expect(await store.threads.getRun(key, second.run_id)).toMatchObject({
      status: 'error',
      error,
      stop_reason: 'model_failed',
    });
    expect(await store.threads.head(key)).toMatchObject({ error, next: ['model_request'] });
    await store.threads.requestCancel(key, third.run_id, 'interrupt');
    expect((await store.threads.getThread(key)).status).toBe('error');
  });

  test.each([
    ['success', [], 'idle'],
    ['success', ['tools'], 'interrupted'],
    ['interrupted', ['tools'], 'idle'],
    ['timeout', [], 'error'],
    ['error', [], 'error'],
  ] as const)('a run that ends as %s with %j to do leaves the thread %s', async (status, next, expected) => {
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);
    await store.step(claimed, { messages: [human('a')] }, { next: [...next] });

    await store.finish(claimed, { status });

    expect((await store.threads.getThread(key)).status).toBe(expected);
  });
});
