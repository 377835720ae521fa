import { NotFoundError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { ai, human, type StoreFixture, thread, useStore } from '@caribou/testing';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

/** Everything of a thread that readers can see, and its log, but not the time of its last change. */
async function visible(key: ThreadKey): Promise<unknown> {
  const { updated_at: _changed, ...record } = await store.threads.getThread(key);
  const { log, checkpoints, order, bases, runs } = store.redis.keys.thread(key);
  const dump = await store.dump();
  return {
    record,
    history: await store.threads.history(key, { limit: 1000 }),
    runs: await store.threads.listRuns(key, { limit: 100, offset: 0 }),
    feed: await store.threads.readFeed(key, { limit: 100 }),
    stored: [log, checkpoints, order, bases, runs].map((name) => dump[name]),
  };
}

describe('rollback', () => {
  test('of a running run restores the thread exactly: state, values, status, history and log', async () => {
    const key = thread();
    const [a, b] = [human('a'), ai('b')];
    await store.turn(key, { messages: [a, b], title: 'first', todos: [{ content: 'x', status: 'pending' }] });
    await store.turn(key, { messages: [ai('new b', b.id)] });
    await store.threads.updateState(key, { title: 'renamed' });
    const before = await visible(key);
    const run = await store.admit(key);
    const claimed = await store.claim(key);

    const first = await store.step(claimed, { messages: [human('c'), { type: 'remove', id: a.id }], title: 'other' });
    await store.step({ lease: claimed.lease, head: first.head }, { messages: [ai('d')], artifacts: ['/f'], todos: [] });
    const finished = await store.finish(claimed, { status: 'interrupted', rollback: true });

    expect(finished).toEqual({
      appended: [{ seq: 3, event: { kind: 'end', status: 'interrupted' } }],
      budget: 'fine',
      stateBytes: 0,
      logBytes: expect.any(Number) as number,
      more: false,
      queueIsEmpty: true,
    });
    expect(await visible(key)).toEqual(before);
    await expect(store.threads.getRun(key, run.run_id)).rejects.toThrow(NotFoundError);
    expect((await store.events.read(key.userId, run.run_id, { after: 0, limit: 10 })).events.at(-1)?.event.kind).toBe(
      'end',
    );
  });

  test('of the first run leaves a fresh thread', async () => {
    const key = thread();
    await store.threads.createThread(key, { kept: true });
    const before = await visible(key);
    await store.admit(key);
    const claimed = await store.claim(key);
    await store.step(claimed, { messages: [human('a')], title: 't' });

    await store.finish(claimed, { status: 'interrupted', rollback: true });

    expect(await visible(key)).toEqual(before);
    expect(await store.threads.head(key)).toBeNull();
  });

  test('of a forked run goes back to the head it replaced', async () => {
    const key = thread();
    const { head: old } = await store.turn(key, { messages: [human('a')], title: 'old' });
    await store.turn(key, { messages: [human('b')], title: 'new', artifacts: ['/f'] });
    const before = await visible(key);
    await store.admit(key, { checkpointId: old.checkpointId ?? '' });
    const claimed = await store.claim(key);
    await store.step(
      claimed,
      { messages: [human('c')] },
      { forkedFrom: await store.runs.loadCheckpoint(key, old.checkpointId ?? '') },
    );
    expect((await store.threads.getThread(key)).values).toEqual({ title: 'old' });

    await store.finish(claimed, { status: 'interrupted', rollback: true });

    expect(await visible(key)).toEqual(before);
  });

  test('of a queued run only removes it', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a')] });
    const before = await visible(key);
    const run = await store.admit(key);

    await store.threads.requestCancel(key, run.run_id, 'rollback');

    expect(await visible(key)).toEqual(before);
  });

  test('the thread continues after it: a run, a rollback and the same run again end like one run', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a')] });
    await store.admit(key);
    const claimed = await store.claim(key);
    await store.step(claimed, { messages: [human('gone')] });
    await store.finish(claimed, { status: 'interrupted', rollback: true });

    await store.turn(key, { messages: [human('b')] });

    expect((await store.threads.head(key))?.state.messages.map((message) => message.content)).toEqual(['a', 'b']);
    expect(await store.threads.history(key, { limit: 10 })).toHaveLength(2);
  });
});
