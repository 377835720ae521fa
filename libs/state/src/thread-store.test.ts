import { newId, NotFoundError } from '@caribou/contracts';
import { human, type StoreFixture, thread, useStore } from '@caribou/testing';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

describe('thread records', () => {
  test('a thread is created once; a second creation returns the first', async () => {
    const key = thread();

    const first = await store.threads.createThread(key, { a: 1 });
    const second = await store.threads.createThread(key, { b: 2 });

    expect(first).toMatchObject({
      created: true,
      record: { thread_id: key.threadId, metadata: { a: 1 }, status: 'idle', values: {}, head: null },
    });
    const threads = { quota: 'threads', limit: 0, used: 1 };
    expect(second).toEqual({ created: false, record: first.record, threads });
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
