import { ModelError, type TraceEntry } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { redisRunStore, redisRunTraces, redisThreadStore, type RunStore, traceSettings } from '@caribou/state';
import { admission, dyingStore, fakeSandbox, scriptedModel, thread, waitFor } from '@caribou/testing';
import type { AgentLoop } from '../run-executor.js';
import { agentOn, kwargs, LEASE_MS, type RunFixture, SCRIPT, useRunFixture } from '../testing/run-fixture.js';

let runs: RunFixture;

useRunFixture((fixture) => {
  runs = fixture;
});

const trace = (process: string) => {
  const settings = traceSettings(runs.redis, { enabled: true, retentionMs: 60_000 }, process);
  return settings === undefined ? {} : { trace: settings };
};

/** The store of a runner that writes traces. */
const runner = (name: string): RunStore =>
  redisRunStore(runs.redis, {
    ...{ leaseMs: LEASE_MS, process: { processId: `agent-runner@${name}~1~x`, leaseMs: LEASE_MS } },
    ...trace(name),
  });

/** The store of a runner whose claims lapse with their own leases. */
const loneRunner = (): RunStore => redisRunStore(runs.redis, { leaseMs: LEASE_MS, ...trace('lone') });

async function admit(): Promise<ThreadKey & { readonly runId: string }> {
  const key = thread();
  const threads = redisThreadStore(runs.redis, trace('gateway@g~1~x'));
  const { run } = await threads.admit({ ...admission(key), kwargs: kwargs('count') });
  return { ...key, runId: run.run_id };
}

const handle = (key: ThreadKey, store: RunStore, agent: AgentLoop) =>
  runs.executorOn(store, agent, { storesTraces: true }).handle(key);

async function traceOf(key: ThreadKey & { readonly runId: string }): Promise<readonly TraceEntry[]> {
  const page = { after: 0, limit: 1_000 };
  return (await redisRunTraces(runs.redis).read({ ...key, record: null }, page)).entries;
}

const ofType = <Type extends TraceEntry['type']>(entries: readonly TraceEntry[], type: Type) =>
  entries.filter((entry): entry is Extract<TraceEntry, { type: Type }> => entry.type === type);

describe('the trace of an executed run', () => {
  test('has each call of model and tools, and each request as the model got it', async () => {
    const key = await admit();
    const model = scriptedModel(SCRIPT);

    await handle(key, runner('one'), agentOn(fakeSandbox(), model));

    const entries = await traceOf(key);
    const order = entries.map(({ type }) => type).filter((type) => type !== 'hooks');
    expect(order).toEqual([
      ...[
        'admitted',
        'claimed',
        'commit',
        'model_call',
        'commit',
        'tool_call',
        'commit',
        'model_call',
        'commit',
        'ended',
      ],
    ]);
    expect(ofType(entries, 'tool_call')).toMatchObject([{ name: 'bash', outcome: 'ok', error: null }]);
    expect(ofType(entries, 'ended')).toMatchObject([{ status: 'success', process: 'agent-runner@one (pid 1)' }]);
    const commits = ofType(entries, 'commit');
    expect(commits.map(({ next }) => next)).toEqual([['model_request'], ['tools'], ['model_request'], []]);
    expect(commits.slice(0, 3).every(({ duration_ms: duration }) => duration !== null && duration >= 0)).toBe(true);
    const calls = ofType(entries, 'model_call');
    const { texts } = runs.redis.keys.traceTexts(key.userId);
    // Those of the system prompt and the tools: what the chain changed of messages is stored as the change.
    expect(await runs.redis.use((client) => client.hlen(texts))).toBe(2 + 1);
    expect(calls).toHaveLength(model.calls.length);
    for (const [index, { call }] of calls.entries()) {
      const page = { offset: 0, limit: 1_000 };
      const request = await redisRunTraces(runs.redis).request({ ...key, record: null }, call ?? 0, page);
      const sent = model.calls[index];
      expect(request?.system).toBe(sent?.system);
      expect(request?.messages.map(({ message }) => message)).toEqual(sent?.messages);
      expect(request?.tools).toEqual(
        sent?.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
      );
    }
  });

  test('has the failed attempts of a model call with class and status, and why it was made again', async () => {
    const key = await admit();
    const details = { reason: 'server', providerStatus: 503, providerText: 'key sk-secret is wrong' };
    const error = new ModelError('the model endpoint had an error', { retryable: true, details });
    const model = scriptedModel([[{ cutAfter: 0, error }, { content: 'well' }]]);

    await handle(key, runner('one'), agentOn(fakeSandbox(), model));

    const entries = await traceOf(key);
    expect(ofType(entries, 'model_call')).toMatchObject([
      { attempt: 1, because: 'first', outcome: 'error', error: { name: 'ModelError', reason: 'server', status: 503 } },
      { attempt: 2, because: 'retry', outcome: 'ok', error: null },
    ]);
    expect(JSON.stringify(entries)).not.toContain('sk-secret');
  });

  test('shows a takeover, and that the process before found that it had lost the run', async () => {
    const key = await admit();
    let release: () => void = () => undefined;
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    const model = scriptedModel([{ content: 'slow', holdBefore: { delta: 0, until } }]);
    const first = handle(key, runner('one'), agentOn(fakeSandbox(), model));
    await waitFor(() => model.calls.length === 1, { what: 'the call of the first runner' });
    const { processes } = runs.redis.keys;
    // The first process is known to be dead, and the second one to be there for longer than a lease.
    await runs.redis.use(async (client) => {
      await client.zadd(processes('runs').ends, 1, 'agent-runner@one~1~x');
      await client.zadd(processes('runs').ends, Date.now() + LEASE_MS, 'agent-runner@two~1~x');
      await client.hset(processes('runs').since, 'agent-runner@two~1~x', 1);
    });

    await handle(key, runner('two'), agentOn(fakeSandbox(), scriptedModel([{ content: 'done' }])));
    release();
    await first;
    await waitFor(async () => ofType(await traceOf(key), 'fenced').length === 1, {
      what: 'the note of the first runner',
    });

    const entries = await traceOf(key);
    expect(ofType(entries, 'claimed').map(({ process, attempt }) => [process, attempt])).toEqual([
      ['agent-runner@one (pid 1)', 1],
      ['agent-runner@two (pid 1)', 2],
    ]);
    expect(ofType(entries, 'taken_over')).toMatchObject([
      { from: 'agent-runner@one (pid 1)', reason: 'process_died', lost_step: true },
    ]);
    expect(ofType(entries, 'fenced')).toMatchObject([
      { process: 'agent-runner@one (pid 1)', reason: expect.stringMatching(/^(write_refused|lease_lost)$/) },
    ]);
    expect(ofType(entries, 'ended')).toMatchObject([{ status: 'success', process: 'agent-runner@two (pid 1)' }]);
  });

  const deaths = [2, 3, 4].flatMap((call) => [
    { call, after: false },
    { call, after: true },
  ]);

  test.each(deaths)('has each step once when a runner dies at store call $call (after it: $after)', async (death) => {
    const key = await admit();
    const { store, died } = dyingStore(loneRunner(), death);
    const sandbox = fakeSandbox();
    const first = handle(key, store, agentOn(sandbox));
    await Promise.race([died, first]);

    await runs.waitUntilUnowned(key);
    await handle(key, loneRunner(), agentOn(sandbox));

    const entries = await traceOf(key);
    const checkpoints = ofType(entries, 'commit').map(({ checkpoint_id: id }) => id);
    const history = await redisThreadStore(runs.redis).history(key, { limit: 100 });
    expect(checkpoints.toReversed()).toEqual(history.map(({ checkpointId }) => checkpointId));
    expect(ofType(entries, 'ended')).toHaveLength(1);
  });

  test('of a run that a drained process hands over says so', async () => {
    const key = await admit();
    const store = runner('one');
    const executor = runs.executorOn(store, () => Promise.resolve({ kind: 'yielded' }), { storesTraces: true });

    expect(await executor.handle(key)).toEqual({ kind: 'handed_over' });

    expect((await traceOf(key)).at(-1)).toMatchObject({ type: 'handed_over', reason: 'draining' });
  });
});
