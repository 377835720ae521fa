import { ConflictError, InvalidRequestError, newId, NotFoundError, RateLimitedError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { admission, ai, human, openStores, type StoreFixture, thread, useStore } from '@caribou/testing';

let store: StoreFixture;

useStore(
  (opened) => {
    store = opened;
  },
  { maxQueuedRuns: 3 },
);

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

describe('quotas', () => {
  test('a full queue refuses enqueue with the quota and its use, and interrupt empties it', async () => {
    const key = thread();
    for (let run = 0; run < 3; run += 1) await store.admit(key);

    const refused = store.admit(key);

    await expect(refused).rejects.toThrow(RateLimitedError);
    await expect(refused).rejects.toMatchObject({ use: { quota: 'queued-runs', limit: 3, used: 3 } });
    await store.admit(key, { multitaskStrategy: 'interrupt' });
    expect(await store.threads.listRuns(key, { limit: 10, offset: 0, status: 'pending' })).toHaveLength(1);
  });

  test("a user's runs in flight are bounded over all threads, and finished ones do not count", async () => {
    const limited = openStores(store.url, { maxInFlightRuns: 2 });
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
