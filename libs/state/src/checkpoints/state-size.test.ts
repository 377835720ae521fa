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

/** Removes the sizes from the checkpoints, as earlier versions did not write them; returns of how many. */
async function removeSizes(store: StoreFixture, key: ThreadKey): Promise<number> {
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
});
