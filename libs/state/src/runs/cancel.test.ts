import { NotFoundError } from '@caribou/contracts';
import { human, type StoreFixture, thread, useStore } from '@caribou/testing';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
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
    expect(await store.isPending(key)).toBe(false);
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
