import { newId } from '@caribou/contracts';
import type { CallUsage } from '@caribou/core';
import type { AdmitRequest } from '../ports/admission.js';
import { human, type StoreFixture, thread, useStore } from '@caribou/testing';
import { redisRunStore } from '../runs/run-store.js';
import { redisThreadStore } from '../thread-store.js';
import type { LedgerSettings } from '../redis/store-settings.js';
import { budgetStateOf } from './budget-state.js';
import { redisUsageLedger } from './usage-ledger.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

const PRICE = { currency: 'USD', input: 2, cachedInput: 0.5, cacheWrite: 2.5, output: 8, reasoning: 10 };
const NO_BUDGETS = { user: null, key: null, warnShare: 0.8 };
const settings = (budgets: Partial<LedgerSettings['budgets']> = {}): LedgerSettings => ({
  prefix: store.redis.keys.usagePrefix,
  prices: new Map([['priced', PRICE]]),
  retentionDays: 2,
  budgets: { ...NO_BUDGETS, ...budgets },
});
const call = (over: Partial<CallUsage> = {}): CallUsage => ({
  ...{ caller: 'lead_agent', model: 'priced', inputTokens: 1_000, outputTokens: 100 },
  ...over,
});
const today = async (): Promise<string> => {
  const [seconds] = await store.redis.use((client) => client.time());
  return new Date(Number(seconds) * 1_000).toISOString().slice(0, 10);
};
const read = async (userId?: string) => redisUsageLedger(store.redis, settings()).read([await today()], userId);

/** Admits a run with an API key, and claims it. */
async function claimed(userId: string, ledger: LedgerSettings, apiKey = 'k1') {
  const key = thread(userId);
  const runs = redisRunStore(store.redis, { ledger });
  await store.admit(key, { apiKey });
  const outcome = await runs.claim(key, 'c1');
  if (outcome.kind !== 'run') throw new Error(outcome.kind);
  const commit = (calls: readonly CallUsage[], head = outcome.head) =>
    runs.commit(outcome.lease, {
      ...{
        head,
        state: { messages: [...head.state.messages, human('x')] },
        next: [],
        source: 'loop',
        step: 1,
        events: [],
      },
      usage: { turns: 1, calls },
    });
  return { key, runs, commit, ...outcome };
}

describe('the ledger', () => {
  test('has the calls of a commit by user, key, agent and model, with their cost', async () => {
    const run = await claimed('ann', settings());
    const details = { cachedInputTokens: 600, cacheWriteTokens: 100, reasoningTokens: 40 };
    const { head } = await run.commit([call(details), call({ caller: 'middleware' }), call({ model: 'free' })]);
    await run.commit([call()], head);

    const rows = [...(await read('ann'))];
    // 600 x 0.5 + 100 x 2.5 + 300 x 2 + 40 x 10 + 60 x 8 = 2030; twice 1000 x 2 + 100 x 8 = 2800; in billionths.
    expect(rows.sort((one, other) => (one.model < other.model ? -1 : 1))).toEqual([
      expect.objectContaining({ model: 'free', calls: 1, input_tokens: 1_000, output_tokens: 100, cost: 0 }),
      {
        ...{ day: await today(), userId: 'ann', apiKey: 'k1', agent: 'lead_agent', model: 'priced', calls: 3 },
        ...{ input_tokens: 3_000, cached_input_tokens: 600, cache_write_tokens: 100 },
        ...{ output_tokens: 300, reasoning_tokens: 40, cost: (2_030 + 2 * 2_800) * 1_000 },
      },
    ]);
  });

  test('counts a commit once, though it is repeated after a lost reply or by an owner who has lost the lease', async () => {
    const run = await claimed('bea', settings());
    const commit = () =>
      run.runs.commit(run.lease, {
        ...{ head: run.head, state: { messages: [human('x', 'm')] }, next: ['model_request'], source: 'loop' },
        ...{ step: 1, events: [], after: 0, usage: { turns: 1, calls: [call()] } },
      });
    await commit();
    await commit();
    await run.runs.handOver(run.lease);
    const next = await run.runs.claim(run.key, 'c2');
    if (next.kind !== 'run') throw new Error(next.kind);
    await expect(commit()).rejects.toThrow();
    await run.runs.finish(next.lease, {
      ...{ status: 'success', events: [] },
      commit: {
        ...{ head: next.head, state: next.head.state, next: [], source: 'loop', step: 2, events: [] },
        usage: { turns: 1, calls: [call()] },
      },
    });

    expect(await read('bea')).toMatchObject([{ calls: 2 }]);
  });

  test('has the calls of a task under the keys of threads, once: not again with its result', async () => {
    const part = store.redis.part('tasks');
    const key = thread('cid');
    const runs = redisRunStore(part, { ledger: settings() });
    await redisThreadStore(part).admit({ ...admission('cid'), ...key, assistantId: 'bash' });
    const outcome = await runs.claim(key, 'c1');
    if (outcome.kind !== 'run') throw new Error(outcome.kind);
    await runs.commit(outcome.lease, {
      ...{ head: outcome.head, state: { messages: [human('x')] }, next: [], source: 'loop', step: 1, events: [] },
      usage: { turns: 1, calls: [call()] },
    });
    const parent = await claimed('cid', settings());
    await parent.commit([call({ caller: 'subagent' })]);

    expect(await read('cid')).toMatchObject([{ agent: 'bash', calls: 1 }]);
  });

  test('is read for all users, by day, and expires', async () => {
    const ledger = redisUsageLedger(store.redis, settings());
    await ledger.add({ userId: 'dan' }, 'memory', [call()]);
    await ledger.add({ userId: 'eve', apiKey: 'k9' }, 'suggestions', [call()]);

    const found = (await read()).filter(({ userId }) => ['dan', 'eve'].includes(userId));
    expect(found.map(({ userId, apiKey, agent }) => [userId, apiKey, agent])).toEqual([
      ['dan', '', 'memory'],
      ['eve', 'k9', 'suggestions'],
    ]);
    expect(await ledger.read(['2020-01-01'])).toEqual([]);
    const keys = (await store.keys()).filter((key) => key.includes('usage:'));
    for (const key of keys) {
      const ttl = await store.redis.use((client) => client.pttl(key));
      expect(ttl).toBeGreaterThan(86_400_000);
    }
    expect(keys.length).toBeGreaterThan(2);
  });

  test('has nothing of an erased user, nor of a call about a thread that is gone', async () => {
    const ledger = redisUsageLedger(store.redis, settings());
    const key = thread('kai');
    await store.admit(key);
    await ledger.add(key, 'suggestions', [call()]);
    expect(await read('kai')).toHaveLength(1);

    await ledger.eraseUser('kai');
    await ledger.add(thread('kai'), 'suggestions', [call()]);

    expect(await read('kai')).toEqual([]);
    expect((await store.keys()).filter((name) => name.includes('usage:kai'))).toEqual([]);
    expect((await read()).filter(({ userId }) => userId === 'kai')).toEqual([]);
  });

  test('is unchanged by calls of none', async () => {
    const ledger = redisUsageLedger(store.redis, settings());
    await ledger.add({ userId: 'gil' }, 'lead_agent', [call()]);
    const before = await read('gil');

    expect(await ledger.add({ userId: 'gil' }, 'lead_agent', [])).toBe('fine');
    expect(await read('gil')).toEqual(before);
  });

  test('is bounded: rows beyond those of a day share one', async () => {
    const ledger = redisUsageLedger(store.redis, settings());
    for (let at = 0; at < 503; at += 1) await ledger.add({ userId: 'fay' }, `a${at}`, [call()]);

    const rows = await read('fay');
    expect(rows).toHaveLength(501);
    expect(rows.find(({ agent }) => agent === 'other')).toMatchObject({ model: 'other', calls: 3 });
  });

  test('takes two commands more of a commit', async () => {
    const commands = async (run: Awaited<ReturnType<typeof claimed>>): Promise<number> => {
      const { head } = await run.commit([call()]);
      const before = await commandCount();
      await run.commit([call()], head);
      return (await commandCount()) - before;
    };
    const commandCount = async (): Promise<number> => {
      const info = await store.redis.use((client) => client.info('commandstats'));
      return [...info.matchAll(/^cmdstat_(?!info|ping)[^:]*:calls=(\d+)/gm)].reduce(
        (sum, [, calls]) => sum + Number(calls),
        0,
      );
    };
    const counted = await commands(await claimed('gus', settings()));
    const bare = thread('gus');
    const runs = redisRunStore(store.redis);
    await store.admit(bare);
    const outcome = await runs.claim(bare, 'c1');
    if (outcome.kind !== 'run') throw new Error(outcome.kind);
    const request = {
      ...{ state: { messages: [human('x')] }, next: [], source: 'loop' as const, step: 1, events: [] },
      usage: { turns: 1, calls: [call()] },
    };
    const { head } = await runs.commit(outcome.lease, { ...request, head: outcome.head });
    const before = await commandCount();
    await runs.commit(outcome.lease, { ...request, head, state: { messages: [...head.state.messages, human('y')] } });

    expect(counted - ((await commandCount()) - before)).toBe(2);
  });
});

/** An admission on a new thread. */
const admission = (userId: string): AdmitRequest => ({
  ...{ ...thread(userId), runId: newId(), assistantId: 'lead_agent', metadata: {}, threadMetadata: {} },
  ...{ multitaskStrategy: 'enqueue', ifNotExists: 'create' },
  kwargs: {
    ...{ input: null, context: {}, recursion_limit: 10, stream_mode: [], stream_subgraphs: false },
    ...{ on_disconnect: 'continue', temporary: true },
  },
});

describe('budgets', () => {
  /** What one call costs, in the currency. */
  const COST = (1_000 * 2 + 100 * 8) / 1e6;

  test('a commit says when a budget nears its limit and when it is used up', async () => {
    const run = await claimed('hal', settings({ user: 3 * COST, warnShare: 0.6 }));
    const states: string[] = [];
    let { head } = run;
    for (let at = 0; at < 4; at += 1) {
      const written = await run.commit([call()], head);
      ({ head } = written);
      states.push(written.budget);
    }

    expect(states).toEqual(['fine', 'warn', 'spent', 'spent']);
  });

  test('a used-up budget refuses runs until the end of the day, for the user or for the key alone', async () => {
    const limited = settings({ key: COST });
    const threads = redisThreadStore(store.redis, { ledger: limited });
    const admit = (userId: string, apiKey: string) => threads.admit({ ...admission(userId), apiKey });
    await admit('ida', 'k1');
    const ledger = redisUsageLedger(store.redis, limited);
    expect(await ledger.add({ userId: 'ida', apiKey: 'k1' }, 'lead_agent', [call()])).toBe('spent');

    await expect(admit('ida', 'k1')).rejects.toMatchObject({
      message: expect.stringMatching(/budget of today for this API key is used up: USD 0\.0028 of 0\.0028/) as string,
      details: { refusal: 'budget', retryAfterMs: expect.any(Number) as number },
    });
    await admit('ida', 'k2');
    expect(await ledger.isSpent({ userId: 'ida', apiKey: 'k1' })).toBe(true);
    expect(await ledger.isSpent({ userId: 'ida' })).toBe(false);
  });

  test('a budget of 0 refuses everything', async () => {
    const threads = redisThreadStore(store.redis, { ledger: settings({ user: 0 }) });
    await expect(threads.admit(admission('jim'))).rejects.toThrow(
      'the budget of today for your account is used up: USD 0 of 0',
    );
  });
});

test('an unknown word of the ledger is no warning', () => {
  expect([null, '', 'x', 'warn', 'spent'].map(budgetStateOf)).toEqual(['fine', 'fine', 'fine', 'warn', 'spent']);
});
