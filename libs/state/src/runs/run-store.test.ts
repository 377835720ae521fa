import { CheckpointId, FencedError, newId } from '@caribou/contracts';
import { admission, ai, human, type StoreFixture, textsOf, thread, useStore } from '@caribou/testing';

let store: StoreFixture;

useStore(
  (opened) => {
    store = opened;
  },
  { leaseMs: 60_000, maxAttempts: 2 },
);

describe('one run', () => {
  test('an admitted run is claimed, committed and finished, and the thread shows it', async () => {
    const key = thread();
    const run = await store.admit(key, { metadata: { source: 'test' } });
    expect(run).toMatchObject({
      status: 'pending',
      attempt: 0,
      metadata: { source: 'test' },
      kwargs: admission(key).kwargs && { recursion_limit: 100 },
    });
    expect(await store.threads.getThread(key)).toMatchObject({ status: 'busy', values: {}, head: null });

    const claimed = await store.claim(key);
    expect(claimed.run).toMatchObject({ run_id: run.run_id, status: 'running', attempt: 1, base_checkpoint_id: null });
    expect(claimed).toMatchObject({ exhausted: false, head: { checkpointId: null, state: { messages: [] } } });

    const first = await store.step(
      claimed,
      { messages: [human('hello')] },
      { source: 'input', step: 0, inputCommitted: true, next: ['model_request'] },
    );
    const last = await store.step(
      { lease: claimed.lease, head: first.head },
      { messages: [ai('hi')], title: 'Greeting' },
      { usage: { turns: 1, calls: [{ caller: 'lead_agent', model: 'm', inputTokens: 5, outputTokens: 2 }] } },
    );
    expect(await store.threads.getRun(key, run.run_id)).toMatchObject({ status: 'running', input_committed: true });
    const finished = await store.finish(claimed);

    expect(CheckpointId.safeParse(last.head.checkpointId).success).toBe(true);
    expect(String(last.head.checkpointId) > String(first.head.checkpointId)).toBe(true);
    expect(finished).toMatchObject({ appended: [{ seq: 3, event: { kind: 'end', status: 'success' } }], more: false });
    expect(await store.threads.getRun(key, run.run_id)).toMatchObject({
      status: 'success',
      total_tokens: 7,
      llm_call_count: 1,
    });
    expect(await store.threads.getThread(key)).toMatchObject({
      status: 'idle',
      values: { title: 'Greeting' },
      head: last.head.checkpointId,
    });
    const head = await store.threads.head(key);
    expect(head).toMatchObject({
      parentId: first.head.checkpointId,
      next: [],
      metadata: { source: 'loop', step: 1, run_id: run.run_id },
    });
    expect(textsOf(head?.state.messages ?? [])).toEqual(['hello', 'hi']);
    expect(await store.isPending(key)).toBe(false);
    expect(await store.runs.claim(key, newId())).toEqual({ kind: 'idle' });
  });

  test('answers with the bytes that it has added to the thread and to the log of the run', async () => {
    const key = thread();
    const { run_id: runId } = await store.admit(key);
    const claimed = await store.claim(key);
    const { log, checkpoints } = store.redis.keys.thread(key);
    const lengthOf = async (hash: string): Promise<number> =>
      (await store.redis.use((client) => client.hvals(hash))).reduce((sum, text) => sum + Buffer.byteLength(text), 0);

    const first = await store.step(claimed, { messages: [human('grüße')], title: 'Greeting' });
    const stamp = Buffer.byteLength(`"id":"${first.head.checkpointId}","created_at":"2026-01-01T00:00:00.000000Z",`);
    expect((await lengthOf(log)) + (await lengthOf(checkpoints)) - first.stateBytes).toBeLessThanOrEqual(stamp);
    expect((await lengthOf(log)) + (await lengthOf(checkpoints))).toBeGreaterThan(first.stateBytes);

    const finished = await store.finish(claimed);
    const entries = await store.redis.use((client) =>
      client.xrange(store.redis.keys.runEvents(key.userId, runId), '-', '+'),
    );
    const logged = entries.reduce((sum, [, [, text = '']]) => sum + Buffer.byteLength(text), 0);
    expect(finished).toMatchObject({ stateBytes: 0, logBytes: logged });
  });

  test('the event log holds every event in order without a gap, the store adding checkpoint and end', async () => {
    const key = thread();
    const run = await store.admit(key);
    const claimed = await store.claim(key);
    const custom = (data: number) => ({ kind: 'custom' as const, data });

    const appended = await store.runs.append(claimed.lease, [custom(1), custom(2)]);
    const committed = await store.step(claimed, { messages: [human('x')] }, { events: [custom(3)] });
    const finished = await store.finish(claimed, {
      commit: {
        head: committed.head,
        state: committed.head.state,
        next: [],
        source: 'loop',
        step: 2,
        events: [custom(4)],
      },
      events: [custom(5)],
    });

    const log = await store.events.read(key.userId, run.run_id, { after: 0, limit: 100 });
    expect(log.events).toEqual([...appended, ...committed.appended, ...finished.appended]);
    expect(log.events.map((entry) => entry.seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(log.events.map((entry) => entry.event.kind)).toEqual([
      'custom',
      'custom',
      'custom',
      'checkpoint',
      'custom',
      'checkpoint',
      'custom',
      'end',
    ]);
    expect(log).toMatchObject({ firstKept: 1, lastSeq: 8 });
    expect(await store.events.read(key.userId, run.run_id, { after: 6, limit: 1 })).toMatchObject({
      events: [{ seq: 7 }],
    });
    expect(await store.events.read('bob', run.run_id, { after: 0, limit: 1 })).toEqual({
      events: [],
      firstKept: 0,
      lastSeq: 0,
    });
  });
});

describe('fence', () => {
  test('a thread with a live owner is busy for every other', async () => {
    const key = thread();
    await store.admit(key);
    await store.claim(key);

    expect(await store.runs.claim(key, newId())).toEqual({ kind: 'busy' });
  });

  test.each([
    ['released', (lease: string) => store.redis.use((client) => client.del(lease, lease.replace(/lease$/, 'owner')))],
    ["another owner's", (lease: string) => store.redis.use((client) => client.set(lease, 'someone:1'))],
    [
      'of another epoch',
      async (lease: string) => {
        const value = await store.redis.use((client) => client.get(lease));
        return store.redis.use((client) => client.set(lease, `${value ?? ''}0`));
      },
    ],
  ])('an owner whose lease is %s writes nothing', async (_case, lose) => {
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);
    await lose(store.redis.keys.thread(key).lease);
    const before = await store.dump();

    await expect(store.runs.renew(claimed.lease)).rejects.toThrow(FencedError);
    await expect(store.runs.append(claimed.lease, [{ kind: 'custom', data: 1 }])).rejects.toThrow(FencedError);
    await expect(store.step(claimed, { messages: [human('x')] })).rejects.toThrow(FencedError);
    await expect(store.finish(claimed)).rejects.toThrow(FencedError);
    await expect(store.runs.handOver(claimed.lease)).rejects.toThrow(FencedError);
    expect(await store.dump()).toEqual(before);
  });
});
