import { ConflictError, newId, NotFoundError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { ai, human, type StoreFixture, textsOf, thread, useStore } from '@caribou/testing';
import { idsFound, nextMillisecond, search } from '../testing/search-threads.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

describe('copy and delete', () => {
  test('a copy has the same log and history under its own id, and then changes independently', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a'), ai('b')], title: 't' });
    await store.turn(key, { messages: [human('c')] });
    const copyKey = thread();
    await nextMillisecond(store);

    const copy = await store.threads.copyThread(key, copyKey.threadId);

    const { created_at: _c, updated_at: _u, ...original } = await store.threads.getThread(key);
    expect(copy).toMatchObject({ ...original, thread_id: copyKey.threadId });
    expect(await store.threads.history(copyKey, { limit: 10 })).toEqual(
      await store.threads.history(key, { limit: 10 }),
    );
    expect(await store.threads.listRuns(copyKey, { limit: 10, offset: 0 })).toEqual([]);
    await store.turn(copyKey, { messages: [human('only here')] });
    expect(textsOf((await store.threads.head(key))?.state.messages ?? [])).toEqual(['a', 'b', 'c']);
    expect(textsOf((await store.threads.head(copyKey))?.state.messages ?? [])).toEqual(['a', 'b', 'c', 'only here']);
    await expect(store.threads.copyThread(key, copyKey.threadId)).rejects.toThrow(ConflictError);
    expect(await idsFound(store, search())).toEqual([copyKey.threadId, key.threadId]);
  });

  test('deleting a thread leaves no key of it', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a')], title: 't' });
    const { head } = await store.turn(key, { messages: [human('b')] });
    await store.threads.updateState(key, { title: 'u' });
    const run = await store.admit(key, { checkpointId: head.checkpointId ?? '' });
    await store.threads.requestCancel(key, run.run_id, 'interrupt');
    await store.admit(key);
    const claimed = await store.claim(key);
    await store.runs.append(claimed.lease, [{ kind: 'custom', data: 1 }]);
    await store.finish(claimed, { status: 'error', error: { name: 'E', message: 'm' } });

    await store.threads.deleteThread(key);
    await store.filesGone(key);

    expect(await store.keys()).toEqual([]);
    await expect(store.threads.deleteThread(key)).rejects.toThrow(NotFoundError);
  });

  test('a deleted run is removed with its events; its checkpoints remain', async () => {
    const key = thread();
    const { run, head } = await store.turn(key, { messages: [human('a')] });

    await store.threads.deleteRun(key, run.run_id);

    await expect(store.threads.getRun(key, run.run_id)).rejects.toThrow(NotFoundError);
    expect((await store.events.read(key.userId, run.run_id, { after: 0, limit: 10 })).lastSeq).toBe(0);
    expect((await store.threads.head(key))?.checkpointId).toBe(head.checkpointId);
  });

  test('a thread that is deleted under a claim is idle for the claimer', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a')] });
    await store.threads.deleteThread(key);

    expect(await store.runs.claim(key, newId())).toEqual({ kind: 'idle' });
  });
});

describe('writes without an owner', () => {
  const refusedOn = async (key: ThreadKey): Promise<void> => {
    const uses = [
      store.threads.updateState(key, { title: 'x' }),
      store.threads.deleteThread(key),
      store.threads.copyThread(key, newId()),
    ];
    const outcomes = await Promise.allSettled(uses);
    expect(outcomes).toEqual(uses.map(() => ({ status: 'rejected', reason: expect.any(ConflictError) })));
  };

  test('they are refused while a run is queued, current without an owner, or owned', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a')] });
    const run = await store.admit(key);
    const before = await store.dump();

    await refusedOn(key);
    await expect(store.threads.deleteRun(key, run.run_id)).rejects.toThrow(ConflictError);
    expect(await store.dump()).toEqual(before);

    const claimed = await store.claim(key);
    await refusedOn(key);
    await store.runs.handOver(claimed.lease);
    await refusedOn(key);
    await expect(store.threads.deleteRun(key, run.run_id)).rejects.toThrow(ConflictError);
  });

  test('they are refused while a lease exists', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a')] });
    await store.redis.use((client) => client.set(store.redis.keys.thread(key).lease, 'someone:1'));

    await refusedOn(key);
  });
});
