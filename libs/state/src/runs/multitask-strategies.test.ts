import { ConflictError, NotFoundError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { admission, ai, human, type StoreFixture, thread, useStore } from '@caribou/testing';

let store: StoreFixture;

useStore(
  (opened) => {
    store = opened;
  },
  { maxQueuedRuns: 3 },
);

const statusOf = async (key: ThreadKey, runId: string): Promise<string> =>
  (await store.threads.getRun(key, runId)).status;

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
      expect(await store.isPending(key)).toBe(turn < 2);
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
