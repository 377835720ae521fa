import { newId } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { human, type StoreFixture, thread, useStore } from '@caribou/testing';
import {
  callOf,
  plainTurn,
  requestOf,
  RETENTION_MS,
  stepOf,
  type TracedStores,
  tracedStores,
} from '../testing/traced-stores.js';

const ALL = { after: 0, limit: 5_000 };

let store: StoreFixture;
let stores: TracedStores;

useStore((opened) => {
  store = opened;
  stores = tracedStores(opened);
});

describe('a request as the model saw it', () => {
  const requestFrom = async (key: ThreadKey, runId: string, page = { offset: 0, limit: 100 }) => {
    const call =
      (await stores.traces.read({ ...key, runId, record: null }, ALL)).entries.find(({ type }) => type === 'model_call')
        ?.seq ?? 0;
    return stores.traces.request({ ...key, runId, record: null }, call, page);
  };

  test('is made of the checkpoint before it and of the texts that are stored once', async () => {
    const key = thread();
    const runId = await plainTurn(stores, key);

    const request = await requestFrom(key, runId);

    expect(request).toMatchObject({ model: 'caribou-demo', parameters: { thinking_enabled: false }, totalMessages: 2 });
    expect(request?.system).toBe(requestOf().system.text);
    expect(request?.tools).toEqual([{ name: 'bash', description: 'runs', parameters: {} }]);
    expect(request?.messages).toMatchObject([
      { index: 0, from: 'chain', message: { type: 'human' } },
      { index: 1, from: 'state', message: { type: 'human', content: 'question' } },
    ]);
    expect(await requestFrom(key, runId, { offset: 1, limit: 1 })).toMatchObject({
      messages: [{ index: 1 }],
      totalMessages: 2,
    });
  });

  const context = { hash: 'contextofuser123', text: JSON.stringify(human('Today is Monday.')), isOfUser: true };
  const withContext = stepOf({
    calls: [callOf({ request: requestOf({ messages: [context, { isBefore: false, from: 0, count: 1 }] }) })],
  });

  test('shows a context that is stored once for the threads of a user, of whichever thread', async () => {
    const user = thread();
    const keys = [user, { ...user, threadId: newId() }];
    const runs = await Promise.all(keys.map((key) => plainTurn(stores, key, withContext)));

    for (const [index, key] of keys.entries()) {
      const request = await requestFrom(key, runs[index] ?? '');
      expect(request?.messages).toMatchObject([
        { index: 0, from: 'chain', message: { content: 'Today is Monday.' } },
        { index: 1, from: 'state', message: { content: 'question' } },
      ]);
    }
    const names = await store.keys();
    expect(names.filter((name) => name.includes(`${user.userId}:`) && /thread:.*:trace-texts/.test(name))).toEqual([]);
  });

  test('shows a context of an earlier version, which is a text of the thread', async () => {
    const key = thread();
    const { isOfUser: _ofUser, ...ofThread } = context;
    const runId = await plainTurn(
      stores,
      key,
      stepOf({ calls: [callOf({ request: requestOf({ messages: [ofThread] }) })] }),
    );

    const request = await requestFrom(key, runId);

    expect(request?.messages).toMatchObject([{ from: 'chain', message: { content: 'Today is Monday.' } }]);
  });

  test('has a context for as long as each trace that refers to it', async () => {
    const key = thread();
    await plainTurn(stores, key, withContext);
    const { texts, ends } = store.redis.keys.traceTexts(key.userId);
    // As if the first turn had been two days ago, long before another process has a turn with the same context.
    await store.redis.use(async (client) => {
      await client.zadd(ends, Date.now() + 60_000, context.hash);
      await client.pexpire(texts, 60_000);
    });
    const other = { ...key, threadId: newId() };
    const runId = await plainTurn(tracedStores(store), other, withContext);

    const trace = store.redis.keys.runTrace(key.userId, runId);
    const [end, ofTexts, ofTrace] = await store.redis.use((client) =>
      Promise.all([client.zscore(ends, context.hash), client.pttl(texts), client.pttl(trace)]),
    );
    expect(Number(end) - Date.now()).toBeGreaterThan(ofTrace);
    expect(ofTexts).toBeGreaterThan(ofTrace);
  });

  test('says which part is not stored any more', async () => {
    const key = thread();
    const large = requestOf({ system: { hash: 'large-300000' } });
    const runId = await plainTurn(stores, key, stepOf({ calls: [callOf({ request: large })] }));
    const keys = store.redis.keys;
    await store.redis.use((client) => client.del(keys.traceTexts(key.userId).texts, keys.threadTraceTexts(key).texts));
    await store.redis.use((client) => client.del(keys.thread(key).checkpoints));

    const request = await requestFrom(key, runId);

    expect(request?.system).toEqual({ missing: 'too_large' });
    expect(request?.tools).toEqual({ missing: 'expired' });
    expect(request?.messages.map(({ message }) => message)).toEqual(['expired', 'checkpoint_gone']);
  });

  test('does not exist for another entry, or for a number that the trace does not have', async () => {
    const key = thread();
    const runId = await plainTurn(stores, key);

    const page = { offset: 0, limit: 100 };
    expect(await stores.traces.request({ ...key, runId, record: null }, 1, page)).toBeNull();
    expect(await stores.traces.request({ ...key, runId, record: null }, 999_001, page)).toBeNull();
    expect(
      await stores.traces.request({ userId: 'mallory', threadId: key.threadId, runId, record: null }, 3_001, page),
    ).toBeNull();
  });

  test('has texts of one user that are bounded, and expire', async () => {
    const key = thread();
    const text = (index: number) => Array.from({ length: 4_000 }, () => newId()).join('') + index;
    for (let index = 0; index < 100; index += 1) {
      const request = requestOf({ system: { hash: `system-${index}`, text: text(index) } });
      await plainTurn(stores, key, stepOf({ calls: [callOf({ request })] }));
    }

    const { texts, ends } = store.redis.keys.traceTexts(key.userId);
    const [stored, left, ttl] = await store.redis.use((client) =>
      Promise.all([client.hgetall(texts), client.zcard(ends), client.pttl(texts)]),
    );
    const { bytes, ...kept } = stored;
    expect(Number(bytes)).toBeLessThanOrEqual(8 * 1024 * 1024);
    expect(Object.keys(kept)).toHaveLength(left);
    expect(kept['system-99']).toBeDefined();
    expect(ttl).toBeGreaterThan(RETENTION_MS);
  }, 60_000);
});
