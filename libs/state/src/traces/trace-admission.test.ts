import type { ThreadKey } from '@caribou/core';
import { type StoreFixture, thread, useStore } from '@caribou/testing';
import { claimRun, type TracedStores, tracedStores } from '../testing/traced-stores.js';

let store: StoreFixture;
let stores: TracedStores;

useStore((opened) => {
  store = opened;
  stores = tracedStores(opened);
});

const traceOf = (key: ThreadKey, runId: string) =>
  stores.traces.read({ ...key, runId, record: null }, { after: 0, limit: 5_000 });
const typesOf = async (key: ThreadKey, runId: string) => (await traceOf(key, runId)).entries.map(({ type }) => type);
const keyOf = ({ userId }: ThreadKey, runId: string) => store.redis.keys.runTrace(userId, runId);

describe('the trace of a run', () => {
  test('has the admission before the run is claimed, as it has it after that', async () => {
    const key = thread();
    const { run } = await stores.admit(key, { apiKey: 'key-1' });

    const waiting = await traceOf(key, run.run_id);
    expect(waiting).toMatchObject({
      entries: [
        { type: 'admitted', seq: 1, process: 'gateway@gateway-1 (pid 12)', api_key: 'key-1', request: 'input' },
      ],
      ...{ next: null, retainedUntilMs: null },
    });
    await claimRun(stores.runner(), key);

    const { entries } = await traceOf(key, run.run_id);
    expect(entries.map(({ type }) => type)).toEqual(['admitted', 'claimed']);
    expect(entries[0]).toEqual(waiting.entries[0]);
  });

  test('has the admission once when the run is paused before its claim, and when an earlier version has written it', async () => {
    const [key, old] = [thread(), thread()];
    const { run } = await stores.admit(key);
    await stores.threads.requestPause(key, run.run_id, 'alice');
    await claimRun(stores.runner(), key);
    const before = await stores.admit(old);
    const record = store.redis.keys.runPrefix(old.userId) + before.run.run_id;
    await store.redis.use(async (client) => {
      await client.hdel(record, 'asked', 'asked_ms');
      await client.rpush(keyOf(old, before.run.run_id), 'a 1750000000000 gateway@g~1~x - enqueue input');
    });
    await claimRun(stores.runner(), old);

    expect(await typesOf(key, run.run_id)).toEqual(['admitted', 'paused', 'claimed']);
    expect(await typesOf(old, before.run.run_id)).toEqual(['admitted', 'claimed']);
  });
});
