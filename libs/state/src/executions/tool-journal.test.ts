import type { JournaledCall, ToolJournal } from '@caribou/core';
import { type StoreFixture, thread, useStore } from '@caribou/testing';
import { redisToolJournal } from './tool-journal.js';

let store: StoreFixture;
let journal: ToolJournal;
let call: JournaledCall;

useStore(
  async (opened) => {
    store = opened;
    journal = redisToolJournal(store.redis);
    const key = thread();
    await store.admit(key);
    const { epoch } = (await store.claim(key)).lease;
    call = { ...key, key: 'run-1:call-1', argsHash: 'a', epoch, attempt: 1 };
  },
  { leaseMs: 60_000 },
);

const outcome = { content: 'done it' };
/** The lease lapses and another runner takes over the thread. */
async function takenOver(): Promise<JournaledCall> {
  await store.redis.use((client) => client.del(store.redis.keys.thread(call).lease));
  const { epoch } = (await store.claim(call)).lease;
  return { ...call, epoch };
}

describe(redisToolJournal, () => {
  test('a call is new once, and its outcome is stored for later callers', async () => {
    expect(await journal.start(call)).toEqual({ state: 'new' });
    expect(await journal.start({ ...call, attempt: 2 })).toEqual({ state: 'unknown' });
    await journal.finish(call, outcome);
    await journal.finish(call, { content: 'something else' });

    expect(await journal.start(call)).toEqual({ state: 'done', outcome });
    expect(await journal.start(await takenOver())).toEqual({ state: 'done', outcome });
  });

  test('the attempt that began a call is answered the same again until there is an outcome or another owner', async () => {
    expect(await journal.start(call)).toEqual({ state: 'new' });
    expect(await journal.start(call)).toEqual({ state: 'new' });

    const next = await takenOver();
    expect(await journal.start(next)).toEqual({ state: 'unknown' });
    expect(await journal.start(next)).toEqual({ state: 'unknown' });
    await expect(journal.start(call)).rejects.toThrow('another epoch');
  });

  test('after a takeover a call without an outcome is unknown for ever, even if its first owner reports one later', async () => {
    await journal.start(call);
    const next = await takenOver();

    expect(await journal.start(next)).toEqual({ state: 'unknown' });
    await expect(journal.finish(call, outcome)).rejects.toThrow('ended as unknown');
    await expect(journal.finish(next, outcome)).rejects.toThrow('begun by another');
    expect(await journal.start(next)).toEqual({ state: 'unknown' });
  });

  test('an outcome reported after the lease was lost is stored unless another one was returned before', async () => {
    await journal.start(call);
    const next = await takenOver();
    await journal.finish(call, outcome);

    expect(await journal.start(next)).toEqual({ state: 'done', outcome });
  });

  test('a caller without the lease of the thread writes no entry', async () => {
    const stale = { ...call, epoch: call.epoch - 1 };
    const before = await store.dump();

    await expect(journal.start(stale)).rejects.toThrow('another epoch');
    expect(await store.dump()).toEqual(before);
    await takenOver();
    await expect(journal.start(call)).rejects.toThrow('another epoch');
  });

  test('other arguments under the same key are reported as a mismatch, and the call is not made', async () => {
    await journal.start(call);

    expect(await journal.start({ ...call, argsHash: 'b' })).toEqual({ state: 'mismatch' });
  });

  test('an outcome over 2 MiB is refused', async () => {
    await journal.start(call);

    await expect(journal.finish(call, { content: 'x'.repeat(2 * 1024 * 1024) })).rejects.toThrow('too large');
  });

  test('entries are stored while their run is in flight, and removed with their thread', async () => {
    await journal.start(call);
    const key = store.redis.keys.executionPrefix(call) + call.key;
    expect(await store.redis.use((client) => client.pttl(key))).toBe(-1);
    await store.redis.use((client) => client.del(store.redis.keys.thread(call).lease));
    await store.finish(await store.claim(call));
    expect(await store.redis.use((client) => client.pttl(key))).toBeGreaterThan(23 * 3_600_000);
    await store.threads.deleteThread(call);

    expect(await store.redis.use((client) => client.exists(key))).toBe(0);
  });
});
