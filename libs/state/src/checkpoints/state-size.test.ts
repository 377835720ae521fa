import { newId } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { admission, ai, human, type StoreFixture, thread } from '@caribou/testing';
import { useOpenStores } from '../testing/open-stores.js';

const open = useOpenStores();

/** The size of the thread's state as an admission answers it; the run ends at once. */
async function sizeAtAdmission(store: StoreFixture, key: ThreadKey): Promise<number> {
  const { stateBytes } = await store.threads.admit({ ...admission(key), runId: newId() });
  await store.finish(await store.claim(key));
  return stateBytes;
}

/** Removes the size from the thread's record, as earlier versions did not write it. */
const removeSize = (store: StoreFixture, key: ThreadKey): Promise<number> =>
  store.redis.use((client) => client.hdel(store.redis.keys.thread(key).record, 'sized'));

/** Removes the sizes from record and checkpoints, as earlier versions did not write them; returns from how many checkpoints. */
async function removeSizes(store: StoreFixture, key: ThreadKey): Promise<number> {
  await removeSize(store, key);
  const { checkpoints } = store.redis.keys.thread(key);
  const texts = await store.redis.use((client) => client.hgetall(checkpoints));
  const sized = Object.entries(texts).filter(([, text]) => text.includes('"bytes":'));
  for (const [id, text] of sized)
    await store.redis.use((client) => client.hset(checkpoints, id, text.replace(/"bytes":\d+,/, '')));
  return sized.length;
}

describe('the size of a state', () => {
  test('is what its entries of the log measure, whatever was added, replaced or removed', async () => {
    // Checkpoints of earlier versions have names.
    const store = open({ compact: false });
    const key = thread();
    const question = human('Ünïcödé and \ud83d\ude00, and half of one: \ud83d');
    await store.turn(key, { messages: [question, ai('one', 'a1')], title: 'a title' });
    await store.turn(key, { messages: [human('x'.repeat(500)), ai('a longer answer', 'a1')], title: 'another title' });
    await store.turn(key, { messages: [{ type: 'remove', id: question.id }, ai('three')], todos: [] });

    const size = await sizeAtAdmission(store, key);
    expect(size).toBeGreaterThan(500);
    expect(await removeSizes(store, key)).toBeGreaterThan(2);
    expect(await sizeAtAdmission(store, key)).toBe(size);

    // The first turn after an earlier version knows the sizes of all entries again.
    await store.turn(key, { messages: [ai('four')] });
    const next = await sizeAtAdmission(store, key);
    expect(await removeSizes(store, key)).toBeGreaterThan(0);
    expect(await sizeAtAdmission(store, key)).toBe(next);
  });

  test('is that of the head after a rollback, a change by a client, and a copy as of an earlier checkpoint', async () => {
    const store = open();
    const key = thread();
    const { head } = await store.turn(key, { messages: [human('question'), ai('answer')] });
    const sameFrom = async (of: ThreadKey): Promise<number> => {
      const size = await sizeAtAdmission(store, of);
      expect(await removeSize(store, of)).toBe(1);
      expect(await sizeAtAdmission(store, of)).toBe(size);
      return size;
    };
    const before = await sameFrom(key);

    await store.admit(key);
    const claimed = await store.claim(key);
    await store.step(claimed, { messages: [ai('a text that is not to stay')] });
    await store.finish(claimed, { status: 'interrupted', rollback: true });
    expect(await sizeAtAdmission(store, key)).toBe(before);

    await store.threads.updateState(key, { title: 'a title' });
    expect(await sameFrom(key)).toBeGreaterThan(before);

    const copy = { ...key, threadId: newId() };
    await store.threads.copyThread(key, copy.threadId, { at: { checkpointId: head.checkpointId ?? '', lastSeq: 3 } });
    expect(await sizeAtAdmission(store, copy)).toBe(before);
  });
});
