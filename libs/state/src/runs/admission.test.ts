import { ConflictError, InvalidRequestError, newId, NotFoundError, RateLimitedError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import {
  admission,
  ai,
  human,
  openStores,
  type StoreFixture,
  type TestServer,
  thread,
  useStore,
} from '@caribou/testing';

let server: TestServer;
let store: StoreFixture;

useStore(
  (opened, redis) => {
    store = opened;
    server = redis;
  },
  { maxQueuedRuns: 3 },
);

const statusOf = async (key: ThreadKey, runId: string): Promise<string> =>
  (await store.threads.getRun(key, runId)).status;

describe('threads of admissions', () => {
  test('a missing thread is made with the metadata given, or refused', async () => {
    const key = thread();

    await expect(store.admit(key, { ifNotExists: 'reject' })).rejects.toThrow(NotFoundError);
    expect(
      await store.threads.searchThreads({
        userId: key.userId,
        ids: [key.threadId],
        limit: 10,
        offset: 0,
        sortBy: 'updated_at',
        sortOrder: 'desc',
      }),
    ).toMatchObject({ total: 0 });
    await store.admit(key, { threadMetadata: { graph_id: 'lead_agent' } });

    expect(await store.threads.getThread(key)).toMatchObject({ status: 'busy', metadata: { graph_id: 'lead_agent' } });
  });

  test("another user's thread is another thread", async () => {
    const key = thread();
    const run = await store.admit(key);

    await expect(store.threads.getRun({ ...key, userId: 'bob' }, run.run_id)).rejects.toThrow(NotFoundError);
    await expect(store.admit({ ...key, userId: 'bob' }, { ifNotExists: 'reject' })).rejects.toThrow(NotFoundError);
    await expect(store.threads.requestCancel({ ...key, userId: 'bob' }, run.run_id, 'interrupt')).rejects.toThrow(
      NotFoundError,
    );
  });

  test('a run is found on its own thread only', async () => {
    const [key, other] = [thread(), thread()];
    const run = await store.admit(key);
    await store.admit(other);

    await expect(store.threads.getRun(other, run.run_id)).rejects.toThrow(NotFoundError);
    await expect(store.threads.requestCancel(other, run.run_id, 'interrupt')).rejects.toThrow(NotFoundError);
    await expect(store.threads.deleteRun(other, run.run_id)).rejects.toThrow(NotFoundError);
  });

  test.each(['a:b', '../x', 'a*', '', 'x'.repeat(65)])('an id like %j reaches no key', async (threadId) => {
    await expect(store.admit({ userId: 'alice', threadId })).rejects.toThrow(InvalidRequestError);
    await expect(store.threads.getThread({ userId: threadId, threadId: 'ok' })).rejects.toThrow(InvalidRequestError);
  });
});

describe('multitask strategies', () => {
  test('of two reject admissions at once exactly one wins', async () => {
    const key = thread();

    const outcomes = await Promise.allSettled([1, 2, 3].map(() => store.admit(key, { multitaskStrategy: 'reject' })));

    expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(ConflictError);
    expect(await store.threads.listRuns(key, { limit: 10, offset: 0 })).toHaveLength(1);
  });

  test('reject accepts a thread whose only run was asked to stop', async () => {
    const key = thread();
    const first = await store.admit(key);
    const claimed = await store.claim(key);
    await store.threads.requestCancel(key, first.run_id, 'interrupt');

    const second = await store.admit(key, { multitaskStrategy: 'reject' });
    await expect(store.admit(key, { multitaskStrategy: 'reject' })).rejects.toThrow('Thread is already running a task');

    expect(await store.finish(claimed, { status: 'interrupted' })).toMatchObject({ more: true });
    expect((await store.claim(key)).run.run_id).toBe(second.run_id);
  });

  test('enqueue runs one after the other in order', async () => {
    const key = thread();
    const runs = [await store.admit(key), await store.admit(key), await store.admit(key)];

    const order = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const claimed = await store.claim(key);
      order.push(claimed.run.run_id);
      expect(await store.finish(claimed)).toMatchObject({ more: turn < 2 });
      expect(await store.runs.hasWork(key)).toBe(turn < 2);
      expect((await store.threads.getThread(key)).status).toBe(turn < 2 ? 'busy' : 'idle');
    }

    expect(order).toEqual(runs.map((run) => run.run_id));
  });

  test('interrupt flags the running run, ends the queued ones and runs after them', async () => {
    const key = thread();
    const first = await store.admit(key);
    const claimed = await store.claim(key);
    const queued = await store.admit(key);

    const admitted = await store.threads.admit({ ...admission(key), multitaskStrategy: 'interrupt' });

    expect(admitted.cancelled).toEqual([first.run_id]);
    expect(admitted.ended).toEqual([
      { runId: queued.run_id, appended: [{ seq: 1, event: { kind: 'end', status: 'interrupted' } }] },
    ]);
    expect(await store.events.read(key.userId, queued.run_id, { after: 0, limit: 10 })).toMatchObject({
      events: admitted.ended[0]?.appended,
    });
    expect(await statusOf(key, queued.run_id)).toBe('interrupted');
    expect(await store.runs.renew(claimed.lease)).toEqual({ cancel: 'interrupt' });
    await store.finish(claimed, { status: 'interrupted' });
    expect((await store.claim(key)).run.run_id).toBe(admitted.run.run_id);
    expect(await statusOf(key, first.run_id)).toBe('interrupted');
  });

  test('rollback reverts the running run whatever status its owner gives, and removes the queued ones', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('one'), ai('two')] });
    const before = await store.threads.head(key);
    const first = await store.admit(key);
    const claimed = await store.claim(key);
    const queued = await store.admit(key);
    const committed = await store.step(claimed, { messages: [human('gone')] });

    const admitted = await store.threads.admit({ ...admission(key), multitaskStrategy: 'rollback' });
    const seen = await store.step({ lease: claimed.lease, head: committed.head }, { messages: [ai('gone too')] });
    const finished = await store.finish(claimed, { status: 'success' });

    expect(admitted).toMatchObject({ cancelled: [first.run_id], ended: [{ runId: queued.run_id }] });
    expect(seen.cancel).toBe('rollback');
    expect(finished).toMatchObject({ appended: [{ event: { kind: 'end', status: 'interrupted' } }], more: true });
    for (const runId of [first.run_id, queued.run_id]) {
      await expect(store.threads.getRun(key, runId)).rejects.toThrow(NotFoundError);
      expect((await store.events.read(key.userId, runId, { after: 0, limit: 100 })).events.at(-1)?.event).toEqual({
        kind: 'end',
        status: 'interrupted',
      });
    }
    const next = await store.claim(key);
    expect(next.run.run_id).toBe(admitted.run.run_id);
    expect(next.head).toMatchObject({ checkpointId: before?.checkpointId, state: before?.state });
  });
});

describe('quotas', () => {
  test('a full queue refuses enqueue with a time to retry after, and interrupt empties it', async () => {
    const key = thread();
    for (let run = 0; run < 3; run += 1) await store.admit(key);

    const refused = store.admit(key);

    await expect(refused).rejects.toThrow(RateLimitedError);
    await expect(refused).rejects.toMatchObject({ details: { retryAfterMs: 5000 } });
    await store.admit(key, { multitaskStrategy: 'interrupt' });
    expect(await store.threads.listRuns(key, { limit: 10, offset: 0, status: 'pending' })).toHaveLength(1);
  });

  test("a user's runs in flight are bounded over all threads, and finished ones do not count", async () => {
    const limited = openStores(server.url, { maxInFlightRuns: 2 });
    const [first, second] = [thread(), thread()];
    await limited.admit(first);
    const run = await limited.admit(second);

    await expect(limited.admit(thread())).rejects.toThrow(RateLimitedError);
    await limited.threads.requestCancel(second, run.run_id, 'interrupt');
    await limited.admit(thread());

    await limited.close();
  });
});

describe('idempotency', () => {
  test('a repeated key joins the first run, another body is refused, and nothing is admitted twice', async () => {
    const key = thread();
    const idempotency = { key: 'k1 with: spaces', bodyHash: 'h1' };

    const outcomes = await Promise.all([1, 2, 3].map(() => store.threads.admit({ ...admission(key), idempotency })));

    expect(new Set(outcomes.map((outcome) => outcome.run.run_id)).size).toBe(1);
    expect(outcomes.filter((outcome) => outcome.repeated)).toHaveLength(2);
    expect(await store.threads.listRuns(key, { limit: 10, offset: 0 })).toHaveLength(1);
    await expect(store.admit(key, { idempotency: { ...idempotency, bodyHash: 'h2' } })).rejects.toThrow(
      InvalidRequestError,
    );
    await expect(store.threads.findIdempotent(key.userId, idempotency.key, 'h2')).rejects.toThrow(InvalidRequestError);
    expect((await store.threads.findIdempotent(key.userId, idempotency.key, 'h1'))?.run_id).toBe(
      outcomes[0]?.run.run_id,
    );
    expect(await store.threads.findIdempotent('bob', idempotency.key, 'h1')).toBeNull();
  });

  test('a repeated run id joins the first run', async () => {
    const request = admission(thread());

    await store.threads.admit(request);

    expect(await store.threads.admit(request)).toMatchObject({ repeated: true, run: { run_id: request.runId } });
  });

  test('the key of a removed run is refused, never run again', async () => {
    const key = thread();
    const idempotency = { key: newId(), bodyHash: 'h' };
    const run = await store.admit(key, { idempotency });
    await store.threads.requestCancel(key, run.run_id, 'rollback');

    await expect(store.admit(key, { idempotency })).rejects.toThrow(ConflictError);
    expect(await store.threads.findIdempotent(key.userId, idempotency.key, 'h')).toBeNull();
  });
});

describe('base of a run', () => {
  const forkOf = async (key: ThreadKey, checkpointId: string | undefined): Promise<string | null> =>
    (await store.admit(key, checkpointId === undefined ? {} : { checkpointId })).fork_checkpoint_id;

  test('an unknown checkpoint is refused', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a')] });

    await expect(forkOf(key, '00000000-0000-7000-8000-000000000000')).rejects.toThrow(NotFoundError);
    await expect(forkOf(thread(), '00000000-0000-7000-8000-000000000000')).rejects.toThrow(NotFoundError);
  });

  test('the head continues', async () => {
    const key = thread();
    const { head } = await store.turn(key, { messages: [human('a')] });

    expect(await forkOf(key, head.checkpointId ?? '')).toBeNull();
  });

  test('a checkpoint behind the head only by state updates continues, and the update survives', async () => {
    const key = thread();
    const { head } = await store.turn(key, { messages: [human('a')] });
    await store.threads.updateState(key, { title: 'one' });
    await store.threads.updateState(key, { title: 'two' });

    expect(await forkOf(key, head.checkpointId ?? '')).toBeNull();
    expect((await store.claim(key)).head.state).toMatchObject({ title: 'two' });
  });

  test('a checkpoint that was the head when the oldest run in flight was admitted, or later, continues', async () => {
    const key = thread();
    const { head: stale } = await store.turn(key, { messages: [human('a')] });
    await store.admit(key);
    const claimed = await store.claim(key);
    const committed = await store.step(claimed, { messages: [human('b')] });
    await store.step({ lease: claimed.lease, head: committed.head }, { messages: [ai('c')] });

    expect(await forkOf(key, stale.checkpointId ?? '')).toBeNull();
    expect(await forkOf(key, committed.head.checkpointId ?? '')).toBeNull();
  });

  test('a checkpoint behind by updates when the oldest run in flight was admitted continues', async () => {
    const key = thread();
    const { head: stale } = await store.turn(key, { messages: [human('a')] });
    await store.threads.updateState(key, { title: 'new' });
    await store.admit(key);
    await store.step(await store.claim(key), { messages: [human('b')] });

    expect(await forkOf(key, stale.checkpointId ?? '')).toBeNull();
  });

  test('an older checkpoint forks: the run builds on it and the record of the thread shows its values', async () => {
    const key = thread();
    const { head: old } = await store.turn(key, { messages: [human('a')], title: 'old' });
    await store.turn(key, { messages: [human('b')], title: 'new', todos: [{ content: 'x', status: 'pending' }] });

    expect(await forkOf(key, old.checkpointId ?? '')).toBe(old.checkpointId);
    const claimed = await store.claim(key);
    const fork = await store.runs.loadCheckpoint(key, claimed.run.fork_checkpoint_id ?? '');
    const committed = await store.step(claimed, { messages: [human('c')] }, { forkedFrom: fork });
    await store.finish(claimed);

    expect(await store.threads.head(key)).toMatchObject({
      checkpointId: committed.head.checkpointId,
      parentId: old.checkpointId,
    });
    expect(committed.head.state.messages.map((message) => message.content)).toEqual(['a', 'c']);
    expect((await store.threads.getThread(key)).values).toEqual({ title: 'old' });
    expect((await store.threads.head(key))?.state).toEqual(committed.head.state);
  });
});

describe('cancel', () => {
  test('a queued run ends at once and the thread is free again', async () => {
    const key = thread();
    const run = await store.admit(key);

    const cancelled = await store.threads.requestCancel(key, run.run_id, 'interrupt');

    expect(cancelled).toMatchObject({
      broadcast: false,
      run: { status: 'interrupted', cancel: 'interrupt' },
      ended: [{ runId: run.run_id }],
    });
    expect((await store.threads.getThread(key)).status).toBe('idle');
    expect(await store.runs.hasWork(key)).toBe(false);
    expect(await store.threads.requestCancel(key, run.run_id, 'rollback')).toMatchObject({
      broadcast: false,
      ended: [],
      run: { status: 'interrupted' },
    });
  });

  test('a queued run that is rolled back is only removed; its end stays readable', async () => {
    const key = thread();
    const run = await store.admit(key);

    expect(await store.threads.requestCancel(key, run.run_id, 'rollback')).toMatchObject({
      run: { run_id: run.run_id, status: 'interrupted' },
    });

    await expect(store.threads.getRun(key, run.run_id)).rejects.toThrow(NotFoundError);
    expect(await store.events.read(key.userId, run.run_id, { after: 0, limit: 1 })).toMatchObject({
      events: [{ event: { kind: 'end' } }],
    });
  });

  test('the flag of a running run is durable, may change to rollback and is never revoked', async () => {
    const key = thread();
    const run = await store.admit(key);
    const claimed = await store.claim(key);

    expect(await store.threads.requestCancel(key, run.run_id, 'interrupt')).toMatchObject({
      broadcast: true,
      ended: [],
    });
    expect(await store.threads.requestCancel(key, run.run_id, 'interrupt')).toMatchObject({ broadcast: true });
    expect(await store.runs.renew(claimed.lease)).toEqual({ cancel: 'interrupt' });
    await store.threads.requestCancel(key, run.run_id, 'rollback');
    await store.threads.requestCancel(key, run.run_id, 'interrupt');
    expect(await store.runs.renew(claimed.lease)).toEqual({ cancel: 'rollback' });
  });

  test('a finished run does not change', async () => {
    const key = thread();
    const { run } = await store.turn(key, { messages: [human('a')] });
    const before = await store.dump();

    expect(await store.threads.requestCancel(key, run.run_id, 'rollback')).toMatchObject({
      broadcast: false,
      run: { status: 'success', cancel: null },
    });
    expect(await store.dump()).toEqual(before);
  });
});
