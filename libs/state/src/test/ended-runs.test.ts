import { BEFORE_FIRST_CHECKPOINT, type RunRecord } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { admission, ai, human, type StoreFixture, thread, useStore } from '@caribou/testing';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

const recordOf = (key: ThreadKey, runId: string): string => store.redis.keys.runPrefix(key.userId) + runId;
const fieldsOf = (key: ThreadKey, runId: string) => store.redis.use((client) => client.hgetall(recordOf(key, runId)));
const encodingOf = (key: ThreadKey, runId: string) =>
  store.redis.use((client) => client.object('ENCODING', recordOf(key, runId)));
const idempotency = { key: 'k', bodyHash: 'h' };
const usage = {
  turns: 1,
  calls: [{ model: 'm'.repeat(100), caller: 'lead_agent', inputTokens: 7, outputTokens: 2 }],
} as const;

/** Fields that an ended run has when nothing special happened. */
const READ_AFTER_END = [
  ...['run_id', 'thread_id', 'user_id', 'assistant_id', 'status', 'metadata', 'multitask_strategy', 'created_at'],
  ...['updated_at', 'attempt', 'input_tokens', 'output_tokens', 'calls', 'lead_agent_tokens', 'base_checkpoint_id'],
  ...['seq', 'ordinal', 'started', 'first_row', 'ended_by', 'stored'],
];

describe('the record of an ended run', () => {
  test('has the fields that are read, in the small encoding', async () => {
    const key = thread();
    const { run_id: runId } = await store.admit(key, { idempotency, traceparent: '00-1' });
    const claimed = await store.claim(key);
    await store.step(claimed, { messages: [human('a')] }, { usage, inputCommitted: true });
    expect(await encodingOf(key, runId)).toBe('hashtable');
    const before = await store.threads.getRun(key, runId);

    await store.finish(claimed);

    expect(Object.keys(await fieldsOf(key, runId)).sort()).toEqual([...READ_AFTER_END, 'idempotency_digest'].sort());
    expect(await encodingOf(key, runId)).toBe('listpack');
    const after = await store.threads.getRun(key, runId);
    expect(after).toEqual({
      ...before,
      status: 'success',
      updated_at: after.updated_at,
      last_seq: 2,
      input_committed: false,
      traceparent: null,
    });
    expect(after.total_tokens).toBe(9);
  });

  test('still says why the run ended, how it was stopped, and what was discarded', async () => {
    const key = thread();
    const { run_id: runId } = await store.admit(key);
    const claimed = await store.claim(key);
    await store.runs.append(claimed.lease, [{ kind: 'custom', data: 1 }], { dropped: ['m1', 'm2'] });
    await store.threads.requestCancel(key, runId, 'interrupt');
    const error = { name: 'E', message: 'x'.repeat(100) };

    await store.finish(claimed, { status: 'interrupted', stopReason: 'loop_capped', error });

    expect(await store.threads.getRun(key, runId)).toMatchObject({
      status: 'interrupted',
      stop_reason: 'loop_capped',
      error,
      cancel: 'interrupt',
      dropped_message_ids: ['m1', 'm2'],
    });
  });

  test.each([
    ['short', { a: 'ä'.repeat(20) }, 'listpack'],
    ['in parts', { name: 'ä€😀'.repeat(60), list: ['x'.repeat(200), { deep: null }] }, 'listpack'],
    ['as a whole, when they are long', { text: 'x'.repeat(3_000) }, 'hashtable'],
  ])('has its metadata: %s', async (_case, metadata, encoding) => {
    for (const offset of [0, 1, 2, 3]) {
      const key = thread();
      const shifted = { [`m${'x'.repeat(offset)}`]: 1, ...metadata };
      const { run_id: runId } = await store.admit(key, {
        metadata: shifted,
        idempotency: { key: key.threadId, bodyHash: 'h' },
      });
      await store.finish(await store.claim(key));

      expect((await store.threads.getRun(key, runId)).metadata).toEqual(shifted);
      expect((await store.threads.listRuns(key, { limit: 1, offset: 0 }))[0]?.metadata).toEqual(shifted);
      expect((await store.threads.requestCancel(key, runId, 'interrupt')).run.metadata).toEqual(shifted);
      expect(await encodingOf(key, runId)).toBe(encoding);
    }
  });

  test('of a temporary thread has its metadata whole, as runners of an earlier version read them of tasks', async () => {
    const key = thread();
    const { kwargs } = admission(key);
    const metadata = { task: 'x'.repeat(100) };
    const { run_id: runId } = await store.admit(key, { metadata, kwargs: { ...kwargs, temporary: true } });

    await store.finish(await store.claim(key));

    expect((await fieldsOf(key, runId))['metadata']).toBe(JSON.stringify(metadata));
  });

  test('is as small for one that was cancelled in the queue', async () => {
    const key = thread();
    await store.admit(key);
    const { run_id: runId } = await store.admit(key, { idempotency, metadata: { a: 1 } });

    const { run } = await store.threads.requestCancel(key, runId, 'interrupt');

    expect(run).toMatchObject({ status: 'interrupted', cancel: 'interrupt', metadata: { a: 1 } });
    expect(await encodingOf(key, runId)).toBe('listpack');
    expect(await store.threads.getRun(key, runId)).toMatchObject({
      ...run,
      base_checkpoint_id: null,
      started_at: null,
    });
    expect((await store.threads.requestCancel(key, runId, 'interrupt')).run).toMatchObject({ status: 'interrupted' });
  });
});

test('a run that is cancelled in the queue no longer retains the checkpoint from which it was to start', async () => {
  const key = thread();
  const bases = () => store.redis.use((client) => client.hkeys(store.redis.keys.thread(key).bases));
  const { head } = await store.turn(key, { messages: [human('a')] });
  await store.turn(key, { messages: [human('b')] });
  await store.turn(key, { messages: [human('c')] });
  const before = await bases();
  const forks = { checkpointId: BEFORE_FIRST_CHECKPOINT };
  const { run_id: runId } = await store.admit(key, forks);
  expect(await bases()).toEqual(expect.arrayContaining([...before, BEFORE_FIRST_CHECKPOINT]));

  await store.threads.requestCancel(key, runId, 'interrupt');

  expect((await bases()).sort()).toEqual([...before].sort());
  await store.threads.deleteRun(key, runId);
  expect((await bases()).sort()).toEqual([...before].sort());
  expect((await store.threads.checkpoint(key, head.checkpointId ?? '')).state.messages).toHaveLength(1);
});

describe('the idempotency key of an ended run', () => {
  test.each([
    ['by its digest', () => Promise.resolve()],
    [
      'by the whole key, as earlier versions stored it',
      (record: string, name: string) =>
        store.redis.use(async (client) => {
          await client.hdel(record, 'idempotency_digest');
          await client.hset(record, 'idempotency', name);
        }),
    ],
  ])('is removed with the thread, found %s', async (_case, change) => {
    const key = thread();
    const { run_id: runId } = await store.admit(key, { idempotency });
    await store.finish(await store.claim(key));
    const named = (await store.keys()).filter((name) => name.includes(':idempotency:'));
    await change(recordOf(key, runId), named[0] ?? '');

    await store.threads.deleteThread(key, { withIdempotency: true });

    expect(named).toHaveLength(1);
    expect(await store.keys()).not.toContain(named[0]);
  });

  test('still finds the run when the request is repeated', async () => {
    const key = thread();
    const { run_id: runId } = await store.admit(key, { idempotency });
    await store.finish(await store.claim(key));

    expect((await store.admit(key, { idempotency })).run_id).toBe(runId);
    await store.threads.deleteThread(key);
    await expect(store.admit(key, { idempotency })).rejects.toThrow('was deleted');
  });
});

describe('the end of a run that regenerates a turn', () => {
  const regenerate = async (key: ThreadKey, { run_id }: RunRecord) => {
    await store.admit(key, {
      checkpointId: BEFORE_FIRST_CHECKPOINT,
      metadata: { regenerate_from_run_id: run_id },
    });
    const claimed = await store.claim(key);
    const forkedFrom = await store.runs.loadCheckpoint(key, BEFORE_FIRST_CHECKPOINT);
    return { claimed, commit: () => store.step(claimed, { messages: [human('new'), ai('text')] }, { forkedFrom }) };
  };
  const rowsOf = async (key: ThreadKey) => {
    const fields = await store.redis.use((client) => client.hkeys(store.redis.keys.thread(key).feed));
    return fields.filter((field) => /^\d+$/.test(field)).sort();
  };
  const basesOf = (key: ThreadKey) => store.redis.use((client) => client.hkeys(store.redis.keys.thread(key).bases));

  test.each(['success', 'error', 'interrupted'] as const)(
    'removes the rows of the old turn, and does not retain the checkpoint at its end (%s)',
    async (status) => {
      const key = thread();
      const { run } = await store.turn(key, { messages: [human('old'), ai('answer')] });
      const { claimed, commit } = await regenerate(key, run);
      await commit();
      expect([await rowsOf(key), await basesOf(key)]).toEqual([
        ['1', '2', '3', '4'],
        expect.arrayContaining([claimed.run.base_checkpoint_id]) as string[],
      ]);

      await store.finish(claimed, { status });

      expect(await rowsOf(key)).toEqual(['3', '4']);
      expect(await store.redis.use((client) => client.hlen(store.redis.keys.thread(key).feed))).toBe(5);
      expect(await basesOf(key)).toEqual([BEFORE_FIRST_CHECKPOINT]);
      expect(await store.threads.history(key, { limit: 10 })).toHaveLength(2);
      await store.threads.deleteRun(key, claimed.run.run_id);
      expect(await basesOf(key)).toEqual([]);
    },
  );

  test('leaves everything as it is when the run has committed nothing', async () => {
    const key = thread();
    const { run } = await store.turn(key, { messages: [human('old'), ai('answer')] });
    const { claimed } = await regenerate(key, run);

    await store.finish(claimed, { status: 'error' });

    expect(await rowsOf(key)).toEqual(['1', '2']);
    expect(await basesOf(key)).toContain(claimed.run.base_checkpoint_id);
  });
});
