import { newId, NotFoundError } from '@caribou/contracts';
import { ai, human, type StoreFixture, textsOf, thread, useStore } from '@caribou/testing';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

describe('state updates', () => {
  test('an update is a checkpoint of source update on the head, merged by the reducer', async () => {
    const key = thread();
    const [a, b] = [human('a'), ai('b')];
    const { head } = await store.turn(key, { messages: [a, b], title: 't', artifacts: ['/1'] });

    const view = await store.threads.updateState(key, {
      messages: [human('new a', a.id)],
      title: 'u',
      artifacts: ['/2'],
    });

    expect(view).toMatchObject({ parentId: head.checkpointId, metadata: { source: 'update', step: 2 }, next: [] });
    expect(await store.threads.head(key)).toEqual(view);
    expect(textsOf(view.state.messages)).toEqual(['new a', 'b']);
    expect(await store.threads.getThread(key)).toMatchObject({
      values: { title: 'u', artifacts: ['/1', '/2'] },
      head: view.checkpointId,
      status: 'idle',
    });
  });

  test('the first update of a fresh thread makes its first checkpoint', async () => {
    const key = thread();
    await store.threads.createThread(key, {});

    expect(await store.threads.updateState(key, { title: 'x' })).toMatchObject({
      parentId: null,
      metadata: { step: 0 },
      state: { title: 'x', messages: [] },
    });
  });

  test('on an older checkpoint it forks, and the thread continues from there', async () => {
    const key = thread();
    const { head: old } = await store.turn(key, { messages: [human('a')], title: 'old' });
    await store.turn(key, { messages: [human('b')], title: 'new', artifacts: ['/1'] });

    const view = await store.threads.updateState(
      key,
      { messages: [human('c')] },
      { checkpointId: old.checkpointId ?? '' },
    );

    expect(view.parentId).toBe(old.checkpointId);
    expect(textsOf(view.state.messages)).toEqual(['a', 'c']);
    expect((await store.threads.getThread(key)).values).toEqual({ title: 'old' });
    await store.admit(key);
    expect((await store.claim(key)).head.checkpointId).toBe(view.checkpointId);
    await expect(store.threads.updateState(thread(), {}, { checkpointId: newId() })).rejects.toThrow(NotFoundError);
  });

  test('concurrent updates are all stored', async () => {
    const key = thread();
    await store.threads.createThread(key, {});

    await Promise.all([1, 2, 3].map((n) => store.threads.updateState(key, { messages: [human(`${n}`)] })));

    expect(new Set(textsOf((await store.threads.head(key))?.state.messages ?? []))).toEqual(new Set(['1', '2', '3']));
  });

  test.each([
    ['model_request', ['tools']],
    ['tools', ['model_request']],
    ['__start__', ['model_request']],
    ['__end__', []],
    [undefined, []],
  ] as const)('as node %s the thread continues at %j', async (asNode, next) => {
    const key = thread();
    await store.threads.createThread(key, {});
    const call = { ...ai(''), tool_calls: [{ name: 'bash', args: {}, id: 'call_1', type: 'tool_call' as const }] };

    const view = await store.threads.updateState(key, { messages: [call] }, asNode === undefined ? {} : { asNode });

    expect(view.next).toEqual(next);
  });
});

describe('history', () => {
  test('newest first, bounded, before a checkpoint, and by metadata', async () => {
    const key = thread();
    const first = await store.turn(key, { messages: [human('a')] });
    const update = await store.threads.updateState(key, { title: 't' });
    const second = await store.turn(key, { messages: [human('b')] });
    const ids = [second.head.checkpointId, update.checkpointId, first.head.checkpointId];
    const history = async (query: Parameters<typeof store.threads.history>[1]) =>
      (await store.threads.history(key, query)).map((view) => view.checkpointId);

    expect(await history({ limit: 10 })).toEqual(ids);
    expect(await history({ limit: 2 })).toEqual(ids.slice(0, 2));
    expect(await history({ limit: 10, before: update.checkpointId })).toEqual(ids.slice(2));
    expect(await history({ limit: 10, metadata: { run_id: first.run.run_id } })).toEqual([first.head.checkpointId]);
    expect(await history({ limit: 10, metadata: { source: 'update' } })).toEqual([update.checkpointId]);
    expect(await history({ limit: 10, metadata: { source: 'fork' } })).toEqual([]);
    expect(await store.threads.checkpoint(key, update.checkpointId)).toEqual(
      (await store.threads.history(key, { limit: 2 }))[1],
    );
  });

  test('a fresh thread has an empty history and no head', async () => {
    const key = thread();
    await store.threads.createThread(key, {});

    expect(await store.threads.history(key, { limit: 10 })).toEqual([]);
    expect(await store.threads.head(key)).toBeNull();
  });
});
