import { newId, NotFoundError, TooLargeError } from '@caribou/contracts';
import { human, type StoreFixture, thread } from '@caribou/testing';
import { useOpenStores } from '../testing/open-stores.js';

const open = useOpenStores();
const ttlOf = (store: StoreFixture, key: string): Promise<number> => store.redis.use((client) => client.pttl(key));

describe('event logs', () => {
  test('a live log has no deadline; after the end it has one, as have those of runs that were rolled back', async () => {
    const store = open({ eventsTtlMs: 3_600_000 });
    const key = thread();
    const [first, second] = [await store.admit(key), await store.admit(key)];
    const claimed = await store.claim(key);
    await store.runs.append(claimed.lease, [{ kind: 'custom', data: 1 }]);
    const log = (runId: string): string => store.redis.keys.runEvents(key.userId, runId);
    expect(await ttlOf(store, log(first.run_id))).toBe(-1);

    await store.finish(claimed);
    await store.threads.requestCancel(key, second.run_id, 'rollback');

    for (const run of [first, second]) {
      const ttlMs = await ttlOf(store, log(run.run_id));
      expect(ttlMs).toBeGreaterThan(3_500_000);
      expect(ttlMs).toBeLessThanOrEqual(3_600_000);
    }
  });

  test('a log above its cap loses the events before its newest checkpoint, but no number', async () => {
    const store = open({ maxLogBytes: 2500 });
    const key = thread();
    const run = await store.admit(key);
    const claimed = await store.claim(key);
    const big = { kind: 'custom' as const, data: 'x'.repeat(900) };
    await store.runs.append(claimed.lease, [big]);
    const { head } = await store.step(claimed, { messages: [human('a')] });
    await store.runs.append(claimed.lease, [big]);
    expect((await store.events.read(key.userId, run.run_id, { after: 0, limit: 100 })).firstKept).toBe(1);

    await store.runs.append(claimed.lease, [big]);

    const log = await store.events.read(key.userId, run.run_id, { after: 0, limit: 100 });
    expect(log).toMatchObject({ firstKept: 2, lastSeq: 4 });
    expect(log.events[0]?.event).toMatchObject({ kind: 'checkpoint', checkpoint_id: head.checkpointId });
  });

  test('without a checkpoint to trim to, a log is refused above twice its cap', async () => {
    const store = open({ maxLogBytes: 1000 });
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);
    const big = { kind: 'custom' as const, data: 'x'.repeat(1000) };
    await store.runs.append(claimed.lease, [big, big]);

    await expect(store.runs.append(claimed.lease, [big])).rejects.toThrow(TooLargeError);
    await store.step(claimed, { messages: [human('a')] });
    await store.runs.append(claimed.lease, [big]);
  });
});

describe('temporary threads', () => {
  test('they are listed nowhere, and after the end readable only by their run, for as long as its events', async () => {
    const store = open();
    const key = thread();
    const request = {
      kwargs: {
        input: null,
        context: {},
        recursion_limit: 1,
        stream_mode: [],
        stream_subgraphs: false,
        on_disconnect: 'cancel' as const,
        temporary: true,
      },
    };
    const run = await store.admit(key, request);
    const claimed = await store.claim(key);
    await store.step(claimed, { messages: [human('a')] });
    const search = { userId: key.userId, limit: 10, offset: 0, sortBy: 'updated_at', sortOrder: 'desc' } as const;
    expect(await store.threads.searchThreads(search)).toEqual({ threads: [], total: 0 });

    await store.finish(claimed);

    expect((await store.threads.head(key))?.state.messages).toHaveLength(1);
    expect((await store.threads.getRun(key, run.run_id)).status).toBe('success');
    expect((await store.events.read(key.userId, run.run_id, { after: 0, limit: 10 })).lastSeq).toBe(2);
    const uses = [
      store.threads.getThread(key),
      store.threads.patchThread(key, {}),
      store.threads.updateState(key, { title: 'x' }),
      store.threads.listRuns(key, { limit: 1, offset: 0 }),
      store.threads.copyThread(key, newId()),
      store.threads.deleteThread(key),
      store.admit(key),
    ];
    expect(await Promise.allSettled(uses)).toEqual(
      uses.map(() => ({ status: 'rejected', reason: expect.any(NotFoundError) })),
    );
    await store.filesGone(key);
    const withoutDeadline = [];
    for (const name of await store.keys()) if ((await ttlOf(store, name)) === -1) withoutDeadline.push(name);
    expect(withoutDeadline).toEqual([]);
  });

  test('one whose only run was cancelled in the queue is removed as well', async () => {
    const store = open();
    const key = thread();
    const run = await store.admit(key, {
      kwargs: {
        input: null,
        context: {},
        recursion_limit: 1,
        stream_mode: [],
        stream_subgraphs: false,
        on_disconnect: 'cancel',
        temporary: true,
      },
    });

    await store.threads.requestCancel(key, run.run_id, 'interrupt');
    await store.filesGone(key);

    for (const name of await store.keys()) expect(await ttlOf(store, name)).toBeGreaterThan(0);
  });
});
