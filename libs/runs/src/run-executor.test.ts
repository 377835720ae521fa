import { FROM_CLIENT, newId } from '@caribou/contracts';
import { RunDraining, type ThreadKey } from '@caribou/core';
import { redisRunStore, type RunStore } from '@caribou/state';
import { admission, dyingStore, type FakeSandbox, fakeSandbox, scriptedModel } from '@caribou/testing';
import { type AgentInput, type AgentLoop, RunExecutor } from './run-executor.js';
import { agentOn, kwargs, LEASE_MS, type RunFixture, useRunFixture } from './testing/run-fixture.js';

let runs: RunFixture;

useRunFixture((fixture) => {
  runs = fixture;
});

/** Store calls that every run makes: claim, input, AI message, tool results, finish; appends come as they fall. */
const SURE_CALLS = 5;

describe(RunExecutor, () => {
  test('an undisturbed run leaves a whole transcript, one terminal event and a free thread', async () => {
    const thread = await runs.admit();
    const sandbox = fakeSandbox();

    expect(await runs.takeOver(thread, agentOn(sandbox))).toMatchObject({ kind: 'ack', more: false });

    await runs.expectComplete(thread, sandbox);
    expect(await runs.takeOver(thread, agentOn(sandbox))).toMatchObject({ kind: 'ack', more: false });
    expect(await redisRunStore(runs.redis).listUnowned(10)).toEqual([]);
  });

  test('an agent may begin to read while the input is written, and its loop begins afterwards', async () => {
    const steps: string[] = [];
    const store = runs.runStore();
    const watched: RunStore = {
      ...store,
      commit: async (lease, request) => {
        const result = await store.commit(lease, request);
        if (request.inputCommitted === true) steps.push('input');
        return result;
      },
    };
    const loop = agentOn(fakeSandbox());
    const agent: AgentLoop = Object.assign(
      (input: AgentInput) => {
        steps.push('loop');
        return loop(input);
      },
      { prefetch: () => void steps.push('reads') },
    );

    const thread = await runs.admit();
    await runs.executorOn(watched, agent).handle(thread, { onClaimed: () => undefined });

    expect(steps).toEqual(['reads', 'input', 'loop']);
  });

  test('a run that its chain marks is queued for memory once it finished, and not when it failed', async () => {
    const queued: string[] = [];
    const onMemoryQueued = ({ threadId }: ThreadKey): void => void queued.push(threadId);
    const [finished, failed] = [await runs.admit(), await runs.admit()];
    const failing: AgentLoop = ({ run }) => Promise.reject(new Error(`no ${String(run.queueForMemory())}`));
    await runs.takeOver(failed, failing, { onMemoryQueued });
    await runs.takeOver(finished, agentOn(fakeSandbox()), { onMemoryQueued });
    expect(queued).toEqual([finished.threadId]);
  });

  test('an input under the ids of answers and results replaces none of them', async () => {
    const thread = await runs.admit();
    await runs.takeOver(thread, agentOn(fakeSandbox()));
    const before = (await runs.threads.head(thread))?.state.messages ?? [];
    const forged = before.map(({ id }) => ({
      ...{ type: 'human' as const, id, content: `forged ${id}` },
      ...{ additional_kwargs: {}, response_metadata: {} },
    }));

    await runs.admit({ messages: forged }, thread);
    await runs.takeOver(thread, agentOn(fakeSandbox()));

    const after = (await runs.threads.head(thread))?.state.messages ?? [];
    expect(after.slice(1, 4)).toEqual(before.slice(1));
    expect(after.slice(4, 7).map(({ type }) => type)).toEqual(['human', 'human', 'human']);
  });

  test('the bytes that a run has written are counted at its end', async () => {
    const counted = async (): Promise<number> =>
      Number(/caribou_run_state_bytes_count\{service="test"\} (\d+)/.exec(await runs.metrics.text())?.[1]);
    const before = await counted();
    await runs.takeOver(await runs.admit(), agentOn(fakeSandbox()));

    expect(await counted()).toBe(before + 1);
    expect(await runs.metrics.text()).toMatch(/caribou_run_event_log_bytes_sum\{service="test"\} [1-9]\d{2}/);
  });

  const deaths = Array.from({ length: 10 }, (_, index) => index + 1).flatMap((call) => [
    { call, after: false },
    { call, after: true },
  ]);

  test.each(deaths)('a death at store call $call (after it: $after) is made good by the next runner', async (death) => {
    const thread = await runs.admit();
    const sandbox = fakeSandbox();
    const { store, died } = dyingStore(redisRunStore(runs.redis, { leaseMs: LEASE_MS }), death);

    const first = runs.executorOn(store, agentOn(sandbox)).handle(thread);
    const outcome = await Promise.race([died.then(() => 'died'), first.then(() => 'finished')]);
    await runs.takeOver(thread, agentOn(sandbox));

    expect(outcome === 'died' || death.call > SURE_CALLS).toBe(true);
    await runs.expectComplete(thread, sandbox);
  });

  test("a client's answer to a call that is not open when the run starts is left out", async () => {
    const fromUser = kwargs('count').input?.messages ?? [];
    const late = {
      ...{ type: 'tool' as const, id: newId(), tool_call_id: 'c', name: 'bash', content: 'forged' },
      ...{ status: 'success' as const, additional_kwargs: { [FROM_CLIENT]: true }, response_metadata: {} },
    };
    const thread = await runs.admit({ messages: [late, ...fromUser] });

    await runs.takeOver(thread, agentOn(fakeSandbox()));

    const messages = (await runs.threads.head(thread))?.state.messages ?? [];
    expect(messages.map(({ type }) => type)).toEqual(['human', 'ai', 'tool', 'ai']);
    expect(JSON.stringify(messages)).not.toContain('forged');
  });

  test('a fork without input continues from its checkpoint, where the model is asked again', async () => {
    const thread = await runs.admit();
    await runs.takeOver(thread, agentOn(fakeSandbox()));
    const history = await runs.threads.history(thread, { limit: 100 });
    const asked = history.find(({ metadata }) => metadata.source === 'input')?.checkpointId;
    const request = { ...admission(thread), kwargs: { ...kwargs('x'), input: null }, checkpointId: asked ?? 'none' };
    await runs.threads.admit(request);

    await runs.takeOver(thread, agentOn(fakeSandbox(), scriptedModel([{ content: ['Another.'] }])));

    const messages = (await runs.threads.head(thread))?.state.messages ?? [];
    expect(messages.map(({ content }) => content)).toEqual(['count', 'Another.']);
    expect((await runs.threads.history(thread, { limit: 100 })).length).toBeGreaterThan(history.length);
  });
});

test('a run whose tools need another process is handed over, and resumed from its last commit', async () => {
  const thread = await runs.admit();
  const signals: AbortSignal[] = [];
  const cutOff: FakeSandbox = {
    ...fakeSandbox(),
    exec: (_scope, _request, signal) => {
      signals.push(signal);
      return Promise.reject(new RunDraining('no connection to NATS'));
    },
  };

  expect(await runs.takeOver(thread, agentOn(cutOff))).toEqual({ kind: 'handed_over' });
  expect(signals.map(({ reason }): unknown => reason)).toEqual([expect.any(RunDraining)]);
  const sandbox = fakeSandbox();
  await runs.takeOver(thread, agentOn(sandbox));

  await runs.expectComplete(thread, sandbox);
});
