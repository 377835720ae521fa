import { FencedError, RateLimitedError, UnavailableError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { admission, ai, human, openStores, type StoreFixture, thread, useStore } from '@caribou/testing';
import { redisToolJournal } from '../executions/tool-journal.js';

let store: StoreFixture;

useStore(
  (opened) => {
    store = opened;
  },
  { leaseMs: 60_000 },
);

const custom = (data: number) => ({ kind: 'custom' as const, data });
const maxMemory = (bytes: number) => store.redis.use((client) => client.config('SET', 'maxmemory', String(bytes)));
const recordOf = (key: ThreadKey, runId: string) => store.redis.keys.runPrefix(key.userId) + runId;
const logOf = async (key: ThreadKey, runId: string) =>
  (await store.events.read(key.userId, runId, { after: 0, limit: 100 })).events.map(({ event }) => event);

describe('the kwargs of a run', () => {
  test('are stored apart from its record, which every write reads, and are removed with the run', async () => {
    const key = thread();
    const { run_id: runId, kwargs } = await store.admit(key);
    const names = store.redis.keys;

    expect(await store.redis.use((client) => client.hexists(recordOf(key, runId), 'kwargs'))).toBe(0);
    expect((await store.threads.getRun(key, runId)).kwargs).toEqual(kwargs);
    const claimed = await store.claim(key);
    expect(claimed.run.kwargs).toEqual(kwargs);
    const [listed] = await store.threads.listRuns(key, { limit: 1, offset: 0 });
    expect(listed).toMatchObject({ run_id: runId, metadata: {}, status: 'running' });
    expect(listed).not.toHaveProperty('kwargs');
    await store.finish(claimed);
    await store.threads.deleteRun(key, runId);

    expect(await store.keys()).not.toContain(names.runKwargs(key.userId, runId));
  });

  test.each(['finish', 'cancel'] as const)('expire with the log after the end of the run (%s)', async (how) => {
    const key = thread();
    const counted = () => store.redis.use((client) => client.get(store.redis.keys.thread(key).stored));
    const { run_id: runId, kwargs } = await store.admit(key);
    const name = store.redis.keys.runKwargs(key.userId, runId);
    expect(await store.redis.use((client) => client.pttl(name))).toBe(-1);
    const bytes = await counted();

    if (how === 'finish') await store.finish(await store.claim(key));
    else await store.threads.requestCancel(key, runId, 'interrupt');

    expect(await store.threads.getRun(key, runId)).toMatchObject({ kwargs, kwargs_expired: false });
    expect(await store.redis.use((client) => client.pttl(name))).toBeGreaterThan(3_500_000);
    await store.redis.use((client) => client.del(name));
    const expired = await store.threads.getRun(key, runId);
    expect(expired).toMatchObject({ kwargs: { input: null, context: {} }, kwargs_expired: true });
    expect((await store.threads.admit({ ...admission(key), runId })).run).toEqual(expired);
    expect(await counted()).toBe(bytes);
    await store.threads.deleteRun(key, runId);
    expect(await counted()).toBeNull();
  });

  test('that are missing before the end make the run unreadable', async () => {
    const key = thread();
    const { run_id: runId } = await store.admit(key);
    await store.redis.use((client) => client.del(store.redis.keys.runKwargs(key.userId, runId)));

    await expect(store.threads.getRun(key, runId)).rejects.toThrow();
    expect(await store.runs.claim(key, 'owner')).toMatchObject({ kind: 'unreadable' });
  });

  test('are found in the records of earlier versions, which contain them', async () => {
    const key = thread();
    const { run_id: runId, kwargs } = await store.admit(key);
    await store.redis.use(async (client) => {
      await client.hset(recordOf(key, runId), 'kwargs', JSON.stringify(kwargs));
      await client.del(store.redis.keys.runKwargs(key.userId, runId));
    });

    expect((await store.threads.getRun(key, runId)).kwargs).toEqual(kwargs);
    expect((await store.threads.admit({ ...admission(key), runId })).run.kwargs).toEqual(kwargs);
    const claimed = await store.claim(key);
    expect(claimed.run.kwargs).toEqual(kwargs);
    await store.finish(claimed);
    expect(await store.redis.use((client) => client.hexists(recordOf(key, runId), 'kwargs'))).toBe(0);
    expect((await store.threads.getRun(key, runId)).kwargs).toEqual(kwargs);
    expect(
      await store.redis.use((client) => client.pttl(store.redis.keys.runKwargs(key.userId, runId))),
    ).toBeGreaterThan(0);
  });
});

describe('bytes of a user', () => {
  const metadata = { text: 'x'.repeat(1_000) };
  const bytesOf = (key: ThreadKey) => store.redis.use((client) => client.get(store.redis.keys.thread(key).stored));

  test('are bounded over all threads, with a refusal that names the limit', async () => {
    const small = openStores(store.url, { maxStoredBytes: 2_500 });
    await small.admit(thread(), { metadata });
    const before = await small.dump();

    const refused = small.admit(thread(), { metadata });

    await expect(refused).rejects.toThrow(RateLimitedError);
    await expect(refused).rejects.toThrow('the limit of 2500 (quotas.max_run_bytes_per_user)');
    expect(await small.dump()).toEqual(before);
    await small.admit(thread('bob'), { metadata });
    await small.close();
  });

  test.each([
    ['a run is deleted', (key: ThreadKey, runId: string) => store.threads.deleteRun(key, runId)],
    ['its thread is deleted', (key: ThreadKey) => store.threads.deleteThread(key)],
  ])('are released when %s', async (_case, forget) => {
    const [key, other] = [thread(), thread()];
    const { run_id: runId } = await store.admit(key, { metadata });
    const counted = Number(await bytesOf(key));
    expect(counted).toBeGreaterThan(1_000);
    await store.admit(other, { metadata });
    await store.finish(await store.claim(key));
    expect(Number(await bytesOf(key))).toBe(2 * counted);

    await forget(key, runId);

    expect(Number(await bytesOf(key))).toBe(counted);
    await store.finish(await store.claim(other), { rollback: true });
    expect(await bytesOf(key)).toBeNull();
  });

  test('are released once when a temporary thread ends, and not again when it is deleted', async () => {
    const key = thread();
    await store.admit(thread(), { metadata });
    const counted = await bytesOf(key);
    const { kwargs } = admission(key);
    await store.admit(key, { metadata, kwargs: { ...kwargs, temporary: true } });

    await store.finish(await store.claim(key));
    expect(await bytesOf(key)).toBe(counted);
    await store.threads.deleteThread(key, { ended: true });

    expect(await bytesOf(key)).toBe(counted);
  });
});

describe('a Redis that is full', () => {
  afterEach(() => maxMemory(0));

  test('accepts no run and no step, but lets runs end with their last step, and results be recorded', async () => {
    const [key, queued] = [thread(), thread()];
    const journal = redisToolJournal(store.redis);
    const { run_id: runId } = await store.admit(key);
    const waiting = await store.admit(queued);
    const claimed = await store.claim(key);
    const { head } = await store.step(claimed, { messages: [human('question')] });
    const call = { ...key, key: `${runId}:call`, argsHash: 'h', epoch: claimed.lease.epoch, attempt: 1 };
    await journal.start(call);
    await maxMemory(1);

    await expect(store.admit(thread())).rejects.toThrow(UnavailableError);
    await expect(store.runs.append(claimed.lease, [custom(1)])).rejects.toThrow(UnavailableError);
    await journal.finish(call, { content: 'sent' });
    await store.threads.requestCancel(queued, waiting.run_id, 'interrupt');
    const state = { messages: [...head.state.messages, ai('answer')] };
    await store.finish(claimed, { commit: { head, state, next: [], source: 'loop', step: 2, events: [] } });

    expect(await store.threads.getRun(key, runId)).toMatchObject({ status: 'success' });
    expect((await store.threads.head(key))?.state.messages).toHaveLength(2);
    expect(await store.threads.getRun(queued, waiting.run_id)).toMatchObject({ status: 'interrupted' });
    await store.threads.deleteRun(queued, waiting.run_id);
  });

  test('lets a run be released for a takeover without counting the attempt', async () => {
    const key = thread();
    await store.admit(key);
    const { lease } = await store.claim(key);
    await maxMemory(1);

    await store.runs.handOver(lease);

    await maxMemory(0);
    expect(await store.claim(key)).toMatchObject({ exhausted: false, run: { attempt: 2 } });
  });
});

describe('a write that is repeated as its outcome was unknown', () => {
  test('appends once, and one that comes late is refused', async () => {
    const key = thread();
    const { run_id: runId } = await store.admit(key);
    const { lease } = await store.claim(key);
    const first = await store.runs.append(lease, [custom(1), custom(2)], { after: 0 });

    expect(await store.runs.append(lease, [custom(1), custom(2)], { after: 0 })).toEqual(first);
    await store.runs.append(lease, [custom(3)], { after: 2 });
    await expect(store.runs.append(lease, [custom(1), custom(2)], { after: 0 })).rejects.toThrow(FencedError);

    expect(await logOf(key, runId)).toEqual([custom(1), custom(2), custom(3)]);
  });

  test('commits once, and the answer is the same', async () => {
    const key = thread();
    const { run_id: runId } = await store.admit(key);
    const claimed = await store.claim(key);
    const request = { events: [custom(1)], after: 0 };
    const message = human('a');
    const first = await store.step(claimed, { messages: [message] }, request);

    expect(await store.step(claimed, { messages: [message] }, request)).toEqual(first);
    const next = await store.step({ ...claimed, head: first.head }, { messages: [ai('b')] }, { after: 2 });
    await expect(store.step(claimed, { messages: [message] }, request)).rejects.toThrow(FencedError);

    expect((await store.threads.head(key))?.checkpointId).toBe(next.head.checkpointId);
    expect((await logOf(key, runId)).map(({ kind }) => kind)).toEqual(['custom', 'checkpoint', 'checkpoint']);
  });

  test('ends a run once, and only for its owner', async () => {
    const key = thread();
    const { run_id: runId } = await store.admit(key);
    const claimed = await store.claim(key);
    await store.finish(claimed);
    await store.admit(key);

    expect(await store.finish(claimed)).toEqual({
      appended: [],
      budget: 'fine',
      stateBytes: 0,
      logBytes: null,
      more: true,
      queueIsEmpty: false,
    });
    await expect(store.finish({ lease: { ...claimed.lease, epoch: claimed.lease.epoch + 1 } })).rejects.toThrow(
      FencedError,
    );

    expect((await logOf(key, runId)).map(({ kind }) => kind)).toEqual(['end']);
  });
});
