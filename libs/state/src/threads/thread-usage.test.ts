import { NotFoundError } from '@caribou/contracts';
import type { CallUsage, ThreadKey } from '@caribou/core';
import { human, type StoreFixture, thread, useStore } from '@caribou/testing';
import { usageParams } from '../usage/usage-call.js';

let store: StoreFixture;

useStore(
  (opened) => {
    store = opened;
  },
  { eventsTtlMs: 60_000 },
);

const call = (
  model: string,
  inputTokens: number,
  outputTokens: number,
  caller: CallUsage['caller'] = 'lead_agent',
) => ({
  caller,
  model,
  inputTokens,
  outputTokens,
});

/** Makes a run with one commit per list of calls; returns its id. */
async function runWith(key: ThreadKey, ...commits: readonly (readonly CallUsage[])[]): Promise<string> {
  const run = await store.admit(key);
  const { lease, head: first } = await store.claim(key);
  let head = first;
  for (const calls of commits) {
    ({ head } = await store.step({ lease, head }, { messages: [human('x')] }, { usage: { turns: 1, calls } }));
  }
  await store.finish({ lease });
  return run.run_id;
}

const parts = (input: number, output: number, { cached = 0, written = 0, reasoning = 0 } = {}) => ({
  ...{ input, cached, written, output, reasoning },
});

const nothing = {
  inputTokens: 0,
  outputTokens: 0,
  runs: 0,
  models: {},
  callers: { lead_agent: 0, subagent: 0, middleware: 0 },
};

describe('tokens of a thread', () => {
  test('are summed over runs by model and caller, and each run counts once per model it called', async () => {
    const key = thread();
    const runId = await runWith(key, [call('a', 10, 1), call('b', 5, 2, 'middleware')], [call('a', 20, 3)]);
    await runWith(key, [call('a', 1, 1), call('c', 7, 0, 'subagent')]);

    expect(await store.threads.threadUsage(key)).toEqual({
      inputTokens: 43,
      outputTokens: 7,
      runs: 2,
      models: {
        a: { tokens: 36, runs: 2, parts: parts(31, 5) },
        b: { tokens: 7, runs: 1, parts: parts(5, 2) },
        c: { tokens: 7, runs: 1, parts: parts(7, 0) },
      },
      callers: { lead_agent: 36, subagent: 7, middleware: 7 },
    });
    expect(await store.threads.getRun(key, runId)).toMatchObject({
      total_input_tokens: 35,
      total_output_tokens: 6,
      total_tokens: 41,
      llm_call_count: 2,
      lead_agent_tokens: 34,
      subagent_tokens: 0,
      middleware_tokens: 7,
    });
  });

  test('have their parts by model: from the cache, into it, and reasoning', async () => {
    const key = thread();
    const detailed = {
      ...call('a', 100, 10),
      ...{ cachedInputTokens: 60, cacheWriteTokens: 30, reasoningTokens: 4 },
    };
    await runWith(key, [detailed, call('a', 1, 1)], [detailed]);

    const { models } = await store.threads.threadUsage(key);
    expect(models['a']?.parts).toEqual(parts(201, 21, { cached: 120, written: 60, reasoning: 8 }));
  });

  test('have no parts when an earlier version counted some of them', async () => {
    const key = thread();
    await runWith(key, [call('a', 10, 1), call('b', 1, 1)]);
    const { usage } = store.redis.keys.thread(key);
    await store.redis.use((client) => client.hincrby(usage, 't:a', 50));

    expect((await store.threads.threadUsage(key)).models).toEqual({
      a: { tokens: 61, runs: 1, parts: undefined },
      b: { tokens: 2, runs: 1, parts: parts(1, 1) },
    });
  });

  test('a fresh thread and one whose providers reported nothing have none; an unknown thread is not found', async () => {
    const key = thread();
    await store.threads.createThread(key, {});
    expect(await store.threads.threadUsage(key)).toEqual(nothing);

    const runId = await runWith(key, []);
    expect(await store.threads.threadUsage(key)).toEqual(nothing);
    expect(await store.threads.getRun(key, runId)).toMatchObject({ llm_call_count: 1, total_tokens: 0 });

    await expect(store.threads.threadUsage(thread())).rejects.toThrow(NotFoundError);
    await expect(store.threads.threadUsage({ ...key, userId: 'bob' })).rejects.toThrow(NotFoundError);
  });

  test('remain when a run is rolled back, including its last step, and when a run is deleted', async () => {
    const key = thread();
    const deleted = await runWith(key, [call('a', 1, 1)]);
    await store.threads.deleteRun(key, deleted);
    const run = await store.admit(key);
    const { lease, head: first } = await store.claim(key);
    const usage = (tokens: number) => ({ usage: { turns: 1, calls: [call('a', tokens, 0)] } });
    const { head } = await store.step({ lease, head: first }, { messages: [human('x')] }, usage(10));
    await store.threads.requestCancel(key, run.run_id, 'rollback');

    const commit = { head, state: head.state, next: [], source: 'loop' as const, step: 2, events: [], ...usage(100) };
    await store.finish({ lease }, { commit });

    await expect(store.threads.getRun(key, run.run_id)).rejects.toThrow(NotFoundError);
    expect(await store.threads.threadUsage(key)).toMatchObject({
      inputTokens: 111,
      runs: 2,
      models: { a: { tokens: 112, runs: 2 } },
    });
  });

  test('are zero in a copy, and are removed with the thread', async () => {
    const key = thread();
    await runWith(key, [call('a', 1, 1)]);
    const copy = { ...key, threadId: thread().threadId };
    await store.threads.copyThread(key, copy.threadId);

    expect(await store.threads.threadUsage(copy)).toEqual(nothing);
    await store.threads.deleteThread(key);
    expect(await store.keys()).not.toContain(store.redis.keys.thread(key).usage);
    await store.filesGone(key);
    await store.threads.createThread(key, {});
    expect(await store.threads.threadUsage(key)).toEqual(nothing);
  });

  test('are removed with an ended temporary thread', async () => {
    const key = thread();
    await store.admit(key, { kwargs: { ...(await store.admit(thread())).kwargs, temporary: true } });
    const claimed = await store.claim(key);
    await store.step(claimed, { messages: [human('x')] }, { usage: { turns: 1, calls: [call('a', 1, 1)] } });
    await store.finish(claimed);

    const { usage } = store.redis.keys.thread(key);
    expect(await store.redis.use((client) => client.pttl(usage))).toBeGreaterThan(0);
  });

  test('models after the fiftieth share a name, the first fifty have their own', async () => {
    const key = thread();
    const many = Array.from({ length: 60 }, (_, index) => call(`m${index}`, 1, 0));
    await runWith(key, many);
    await runWith(key, [call('m0', 1, 0), call('m59', 1, 0)]);

    const { models, runs } = await store.threads.threadUsage(key);
    expect(Object.keys(models)).toHaveLength(51);
    expect(models).toMatchObject({
      m0: { tokens: 2, runs: 2, parts: parts(2, 0) },
      other: { tokens: 11, runs: 2, parts: undefined },
    });
    expect(runs).toBe(2);
  });

  test('a record of a version without callers reads as no tokens by caller', async () => {
    const key = thread();
    const runId = await runWith(key, [call('a', 1, 1)]);
    const record = `${store.redis.keys.runPrefix(key.userId)}${runId}`;
    await store.redis.use((client) => client.hdel(record, 'lead_agent_tokens', 'subagent_tokens', 'middleware_tokens'));

    expect(await store.threads.getRun(key, runId)).toMatchObject({
      total_tokens: 2,
      lead_agent_tokens: 0,
      subagent_tokens: 0,
      middleware_tokens: 0,
    });
  });

  test('a step that lost its lease counts nothing', async () => {
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);
    await store.redis.use((client) => client.del(store.redis.keys.thread(key).lease));
    await store.claim(key);

    const usage = { turns: 1, calls: [call('a', 1, 1)] };
    await expect(store.step(claimed, { messages: [human('x')] }, { usage })).rejects.toThrow('not owned');
    expect(await store.threads.threadUsage(key)).toEqual(nothing);
  });
});

describe(usageParams, () => {
  test('a count of tokens that is not a whole number becomes one, so that sums stay exact', () => {
    expect(
      usageParams({ turns: 1, calls: [call('a', 1.6, Number.NaN), call('a', -5, Number.POSITIVE_INFINITY)] }),
    ).toEqual({ turns: 1, input: 2, output: 0, callers: [['lead_agent', 2]], models: [['a', 2, 0, 0, 0, 0]] });
  });
});
