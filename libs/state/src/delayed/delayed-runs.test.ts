import { ConflictError, newId, QuotaError, type RunRecord } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { type DelayedRuns, redisDelayedRuns } from '@caribou/state';
import { human, type StoreFixture, thread, useStore, waitFor } from '@caribou/testing';

let store: StoreFixture;
let delayed: DelayedRuns;

useStore(
  (opened) => {
    store = opened;
    delayed = redisDelayedRuns(opened.redis, {});
  },
  { maxDelayedRuns: 2 },
);

/** Starts all runs whose time has come, by two processes at once; returns how many starts took effect. */
async function startDue(): Promise<number> {
  const { runs } = await delayed.listDue(100);
  const starts = await Promise.all([...runs, ...runs].map((run) => delayed.start(run)));
  return starts.filter((start) => start !== null).length;
}

const waitUntilDue = (run: RunRecord): Promise<unknown> =>
  waitFor(async () => (await delayed.listDue(100)).runs.some(({ runId }) => runId === run.run_id), {
    what: 'the time of the run',
  });

const statusOf = async (key: ThreadKey, run: RunRecord) => (await store.threads.getRun(key, run.run_id)).status;

describe('runs that wait for their time', () => {
  test('a run is pending and listed, and starts once when its time has come, whoever asks how often', async () => {
    const key = thread();
    const run = await store.admit(key, { delayMs: 50 });
    expect(run.status).toBe('pending');
    expect((await store.threads.listRuns(key, { limit: 10, offset: 0 })).map(({ run_id }) => run_id)).toEqual([
      run.run_id,
    ]);
    expect((await store.threads.getThread(key)).status).toBe('idle');
    expect(await store.isPending(key)).toBe(false);

    await waitUntilDue(run);
    expect(await startDue()).toBe(1);

    expect(await store.isPending(key)).toBe(true);
    expect((await store.claim(key)).run.run_id).toBe(run.run_id);
    expect((await delayed.listDue(100)).runs).toEqual([]);
  });

  test('before its time it cannot be started or claimed', async () => {
    const key = thread();
    const run = await store.admit(key, { delayMs: 60_000 });

    expect(await delayed.start({ ...key, runId: run.run_id })).toBeNull();
    expect((await store.runs.claim(key, newId())).kind).toBe('idle');
    expect((await delayed.listDue(1)).waitMs).toBeGreaterThan(50_000);
  });

  test('other runs of the thread go first, and its state may be changed meanwhile', async () => {
    const key = thread();
    const later = await store.admit(key, { delayMs: 60_000 });
    const { head } = await store.turn(key, { messages: [human('first')] });
    await store.threads.updateState(key, { title: 'changed' });

    expect(head.state.messages).toHaveLength(1);
    expect(await statusOf(key, later)).toBe('pending');
  });

  test('a run that interrupts others leaves it alone', async () => {
    const key = thread();
    const later = await store.admit(key, { delayMs: 60_000 });
    await store.admit(key);
    const running = await store.claim(key);
    await store.admit(key, { multitaskStrategy: 'rollback' });

    expect((await store.runs.renew(running.lease)).cancel).toBe('rollback');
    expect(await statusOf(key, later)).toBe('pending');
  });

  test('interrupt takes effect at its time and not before; reject waits for the run that is under way', async () => {
    for (const [strategy, cancels] of [
      ['interrupt', true],
      ['reject', false],
    ] as const) {
      const key = thread();
      await store.admit(key);
      const running = await store.claim(key);
      const run = await store.admit(key, { delayMs: 20, multitaskStrategy: strategy });
      expect((await store.runs.renew(running.lease)).cancel).toBeNull();
      await waitUntilDue(run);

      const start = await delayed.start({ ...key, runId: run.run_id });

      expect(start).toMatchObject({ cancelled: cancels ? [running.run.run_id] : [], isUnderWay: true });
      expect((await store.runs.renew(running.lease)).cancel).toBe(cancels ? 'interrupt' : null);
      await store.finish(running);
      expect((await store.claim(key)).run.run_id).toBe(run.run_id);
    }
  });

  test('one that is cancelled ends, and one that is deleted is gone', async () => {
    const key = thread();
    const cancelled = await store.admit(key, { delayMs: 30 });
    const deleted = await store.admit(key, { delayMs: 30 });

    const result = await store.threads.requestCancel(key, cancelled.run_id, 'interrupt');
    expect(result).toMatchObject({ broadcast: false, ended: [{ runId: cancelled.run_id }] });
    expect(await store.threads.deleteRun(key, deleted.run_id)).toMatchObject([{ runId: deleted.run_id }]);

    expect(await statusOf(key, cancelled)).toBe('interrupted');
    await expect(store.threads.getRun(key, deleted.run_id)).rejects.toThrow('does not exist');
    expect((await delayed.listDue(100)).waitMs).toBeNull();
  });

  test('a run that waits in the queue of its thread is not deleted', async () => {
    const key = thread();
    const run = await store.admit(key);

    await expect(store.threads.deleteRun(key, run.run_id)).rejects.toThrow(ConflictError);
  });

  test('a deleted thread takes its waiting runs with it and leaves nothing behind', async () => {
    const key = thread();
    await store.admit(key, { delayMs: 60_000 });
    await store.threads.deleteThread(key);
    await store.filesGone(key);

    expect(await store.keys()).toEqual([]);
  });

  test('the end of another run of a temporary thread leaves the waiting one', async () => {
    const key = thread();
    const later = await store.admit(key, { delayMs: 30, kwargs: { ...(await template()), temporary: true } });
    await store.turn(key, { messages: [human('first')] });
    await waitUntilDue(later);
    await startDue();

    expect((await store.claim(key)).run.run_id).toBe(later.run_id);
  });

  test('above the limit of a user a further one is refused, and a run without delay is not', async () => {
    const key = thread();
    for (let count = 0; count < 2; count += 1) await store.admit(key, { delayMs: 60_000 });

    await expect(store.admit(key, { delayMs: 1 })).rejects.toThrow(QuotaError);
    await expect(store.admit(key, { delayMs: 1 })).rejects.toThrow('quotas.max_delayed_runs_per_user');
    await expect(store.admit(key)).resolves.toBeDefined();
    await expect(store.admit(thread('bob'), { delayMs: 60_000 })).resolves.toBeDefined();
  });

  test('a copy of the thread has no waiting runs', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('first')] });
    await store.admit(key, { delayMs: 60_000 });
    const copy = { ...key, threadId: newId() };
    await store.threads.copyThread(key, copy.threadId);

    expect(await store.redis.use((client) => client.hget(store.redis.keys.thread(copy).record, 'delayed'))).toBeNull();
  });
});

const template = async (): Promise<RunRecord['kwargs']> => (await store.admit(thread('template'))).kwargs;
