import { runAgent } from '@caribou/agent';
import { newId } from '@caribou/contracts';
import { type AnyTool, defineTool, type LoopHost, type OfferedRun, silentLogger, systemClock } from '@caribou/core';
import { createMetrics, noopTracing } from '@caribou/observability';
import { ledgerSettings, redisRunStore, redisThreadStore, redisUsageLedger } from '@caribou/state';
import { admission, type ScriptedAnswer, scriptedModel, type StoreFixture, thread, useStore } from '@caribou/testing';
import { z } from 'zod';
import { RunExecutor } from './run-executor.js';
import { RunRegistry } from './run-registry.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

const usage = { input_tokens: 1_000_000, output_tokens: 0, total_tokens: 1_000_000 };
const works: ScriptedAnswer = { calls: [{ name: 'unknown' }], usage };
const call = { caller: 'lead_agent', model: 'scripted', inputTokens: 1_000_000, outputTokens: 0 } as const;

/** One call of the model costs 1; a day of a user may cost `limit`. */
const limitedTo = (limit: number) => {
  const pricing = { currency: 'USD', input: 1, cachedInput: 1, cacheWrite: 1, output: 1, reasoning: 1 };
  const models = [{ name: 'scripted', pricing }] as unknown as Parameters<typeof ledgerSettings>[1]['models'];
  const budgets = { retentionDays: 1, userBudgetPerDay: limit, keyBudgetPerDay: null, warnShare: 0.5 };
  return ledgerSettings(store.redis, { models, usage: budgets });
};

interface Play {
  readonly answers?: readonly ScriptedAnswer[];
  readonly tools?: readonly AnyTool[];
  /** The run as a gateway offers it. */
  readonly offered?: OfferedRun;
}

/** Executes the next run of a thread. */
async function execute(key: ReturnType<typeof thread>, limit: number, { answers, tools = [], offered }: Play = {}) {
  const model = scriptedModel(answers ?? Array.from({ length: 9 }, () => works));
  const metrics = createMetrics({ service: 'test' });
  const executor = new RunExecutor({
    ...{ store: redisRunStore(store.redis, { ledger: limitedTo(limit) }), registry: new RunRegistry(), metrics },
    ...{
      logger: silentLogger,
      publisher: { publishEvents: () => undefined },
      tracing: noopTracing,
      clock: systemClock,
    },
    clocks: { leaseMs: 30_000, renewMs: 10_000, eventWindowMs: 100 },
    agent: ({
      run,
      host,
      head,
      position,
    }: { readonly host: LoopHost } & Parameters<ConstructorParameters<typeof RunExecutor>[0]['agent']>[0]) =>
      runAgent({
        ...{ chain: [], tools, model, systemPrompt: '', options: { maxTurns: 9 } },
        ...{ run, host, position, state: head.state, step: 0 },
      }),
  });
  await executor.handle(key, offered && { run: offered, onClaimed: () => undefined });
  const head = await store.threads.head(key);
  return { model, last: head?.state.messages.at(-1)?.content, metrics: await metrics.text() };
}

describe('a budget of the day', () => {
  test('that is used up ends a run at its next step: tools are run, and no model is called', async () => {
    const key = thread('ann');
    const { run_id: runId } = await store.admit(key);

    const { model, last, metrics } = await execute(key, 2);

    expect(model.calls).toHaveLength(2);
    expect(last).toContain('budget of today');
    expect(await store.threads.getRun(key, runId)).toMatchObject({ status: 'success', stop_reason: 'budget' });
    expect(metrics).toContain('caribou_budget_reached_total{state="warned",service="test"} 1');
    expect(metrics).toContain('caribou_budget_reached_total{state="spent",service="test"} 1');
  });

  test.each([
    ['waited', false],
    ['begins with its claim', true],
  ])('that other runs have used up ends a run that %s, before its first call', async (_how, isOffered) => {
    const key = thread(isOffered ? 'bea' : 'bob');
    const { run } = await redisThreadStore(store.redis, { ledger: limitedTo(1) }).admit(admission(key));
    await redisUsageLedger(store.redis, limitedTo(1)).add({ userId: key.userId }, 'lead_agent', [call]);
    const offered = { runId: run.run_id, kwargs: run.kwargs, headId: null };

    const { model, last } = await execute(key, 1, isOffered ? { offered } : {});

    expect(model.calls).toEqual([]);
    expect(last).toContain('budget of today');
  });

  test('that other runs use up while a run executes its tools ends it before its next call', async () => {
    const key = thread('dan');
    const ledger = redisUsageLedger(store.redis, limitedTo(3));
    const slow = defineTool({
      ...{ name: 'slow', group: 'test', description: 'waits', input: z.object({}) },
      run: async () => {
        await ledger.add({ userId: 'dan' }, 'lead_agent', [call, call]);
        return { content: 'done' };
      },
    });
    await store.admit(key);

    const answers = [{ calls: [{ name: 'slow', args: {} }], usage }, works];
    const { model, last } = await execute(key, 3, { answers, tools: [slow] });

    expect(model.calls).toHaveLength(1);
    expect(last).toContain('budget of today');
  });

  test('that was used up before a takeover ends the run without another call', async () => {
    const key = thread('eve');
    await store.admit(key);
    const claimed = await store.claim(key);
    await store.step(claimed, { messages: [] }, { inputCommitted: true, next: ['model_request'], source: 'input' });
    await store.runs.handOver(claimed.lease);
    await redisUsageLedger(store.redis, limitedTo(1)).add({ userId: 'eve' }, 'lead_agent', [call]);

    const { model, last } = await execute(key, 1);

    expect(model.calls).toEqual([]);
    expect(last).toContain('budget of today');
  });

  test.each([
    [1.5, 'warned'],
    [1, 'spent'],
  ])('of %d that the last answer of a run reaches is noticed: %s', async (limit, state) => {
    const key = thread(`fay-${state}`);
    await store.admit(key);

    const { metrics } = await execute(key, limit, { answers: [{ content: 'done', usage }] });

    expect(metrics).toContain(`caribou_budget_reached_total{state="${state}",service="test"} 1`);
  });

  test('that is far away changes nothing', async () => {
    const key = thread(`carl-${newId()}`);
    await store.admit(key);

    const { model, metrics } = await execute(key, 1_000);

    expect(model.calls).toHaveLength(9);
    expect(metrics).not.toContain('caribou_budget_reached_total{state="spent",service="test"} 1');
  });
});
