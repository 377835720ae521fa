import { type AiMessage, newId, type ThreadState } from '@caribou/contracts';
import type { AgentMiddleware, Step } from '@caribou/core';
import { fakeHost, fakeRun, humanMessage, type ScriptedAnswer, scriptedModel } from '@caribou/testing';
import type { AgentRun } from './agent-run.js';
import { runAgent } from './run-agent.js';

type Hook = (state: ThreadState) => Step | undefined;

/** A middleware whose hooks are plain functions. */
const hooks = (given: { readonly beforeModel?: Hook; readonly afterModel?: Hook; readonly slow?: Hook }) => {
  const { beforeModel, afterModel, slow } = given;
  const middleware: AgentMiddleware = {
    name: 'probe',
    ...(beforeModel === undefined ? {} : { beforeModel: (state) => Promise.resolve(beforeModel(state)) }),
    ...(afterModel === undefined ? {} : { afterModel: (state) => Promise.resolve(afterModel(state)) }),
    ...(slow === undefined ? {} : { isSlowAfterModel: (state) => slow(state) !== undefined }),
  };
  return middleware;
};

function agentWith(chain: readonly AgentMiddleware[], script: readonly ScriptedAnswer[], over: Partial<AgentRun> = {}) {
  const state = { messages: [humanMessage('hi', 'h1')] };
  const host = fakeHost({ state });
  const model = scriptedModel(script);
  const agent: AgentRun = {
    chain,
    tools: [],
    model,
    systemPrompt: '',
    options: { maxTurns: 10 },
    host,
    run: fakeRun(),
    state,
    step: 0,
    position: 'start',
    ...over,
  };
  return { agent, host, model };
}

const answers = ({ messages }: ThreadState): number => messages.filter(({ type }) => type === 'ai').length;
const aiMessage = (additional_kwargs: Record<string, unknown>): AiMessage => ({
  type: 'ai',
  id: newId(),
  content: 'sorry',
  additional_kwargs,
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
});

describe('what hooks decide', () => {
  test('again: the model is called once more in the place of the end, after a commit', async () => {
    const probe = hooks({ afterModel: (state) => (answers(state) < 2 ? { again: true } : undefined) });
    const { agent, host, model } = agentWith([probe], [{ content: 'one' }, { content: 'two' }]);

    const outcome = await runAgent(agent);

    expect(model.calls).toHaveLength(2);
    expect(host.commits.map(({ next }) => next)).toEqual([['model_request']]);
    expect(outcome.kind).toBe('finished');
  });

  test('again at the last turn: an answer that stands is the end, without one the limit is told', async () => {
    const options = { maxTurns: 1 };
    const asks = hooks({ afterModel: () => ({ again: true }) });
    expect(await runAgent(agentWith([asks], [{ content: 'one' }], { options }).agent)).toMatchObject({
      kind: 'finished',
    });

    const takesOut = hooks({
      afterModel: ({ messages }) => ({
        update: { messages: [{ type: 'remove', id: messages.at(-1)?.id ?? '' }] },
        again: true,
      }),
    });
    expect(await runAgent(agentWith([takesOut], [{}], { options }).agent)).toMatchObject({
      kind: 'failed',
      error: { name: 'GraphRecursionError' },
    });
  });

  test('a reason to stop is that of the turn the run ended with', async () => {
    const reasons = ['first', 'last'];
    const two = hooks({
      afterModel: (state) => ({ stopReason: reasons[answers(state) - 1] ?? '', again: answers(state) < 2 }),
    });
    expect(await runAgent(agentWith([two], [{}, {}]).agent)).toMatchObject({ kind: 'finished', stopReason: 'last' });

    const early = hooks({
      afterModel: (state) => (answers(state) < 2 ? { stopReason: 'first', again: true } : undefined),
    });
    expect(await runAgent(agentWith([early], [{}, {}]).agent)).not.toHaveProperty('stopReason');
  });

  test('durable: what a hook of beforeModel changed is committed before the model is called', async () => {
    const probe = hooks({
      beforeModel: (state) => (state.title === 'x' ? undefined : { update: { title: 'x' }, durable: true }),
    });
    const { agent, host, model } = agentWith([probe], [{ content: 'one' }]);
    const atCommit: number[] = [];
    await runAgent({
      ...agent,
      host: { commit: (turn) => (atCommit.push(model.calls.length), host.commit(turn)) },
    });
    expect(atCommit).toEqual([0]);
    expect(host.commits[0]).toMatchObject({ next: ['model_request'], state: { title: 'x' } });
  });

  test('tokens of a hook are counted beside the turn', async () => {
    const usage = { caller: 'middleware', model: 'small', inputTokens: 3, outputTokens: 1 } as const;
    const probe = hooks({ beforeModel: () => ({ usage: [usage, usage] }) });
    const told = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
    const outcome = await runAgent(agentWith([probe], [{ content: 'one', usage: told }]).agent);
    expect(outcome).toMatchObject({
      last: {
        usage: {
          turns: 1,
          calls: [usage, usage, { caller: 'lead_agent', model: 'scripted', inputTokens: 5, outputTokens: 2 }],
        },
      },
    });
  });

  test('an answer is committed before a slow hook, and a takeover goes on behind it without another model call', async () => {
    const probe = hooks({ slow: () => ({}), afterModel: () => ({ update: { title: 'named' } }) });
    const first = agentWith([probe], [{ content: 'one' }]);
    const outcome = await runAgent(first.agent);
    expect(first.host.commits.map(({ next }) => next)).toEqual([['after_model']]);

    const { state, next, step } = first.host.head;
    const second = agentWith([probe], [], { state, step, position: next[0] ?? 'end' });
    const taken = await runAgent(second.agent);
    expect(second.model.calls).toEqual([]);
    expect(taken.kind !== 'yielded' && taken.last.state).toEqual(outcome.kind !== 'yielded' && outcome.last.state);
  });

  test('a failed model is still a failure after a takeover behind its message', async () => {
    const state = {
      messages: [humanMessage('hi'), aiMessage({ deerflow_error_fallback: true, error_type: 'ModelError' })],
    };
    const outcome = await runAgent(agentWith([], [], { state, position: 'after_model' }).agent);
    expect(outcome).toMatchObject({ kind: 'failed', error: { name: 'ModelError', message: 'sorry' } });
  });

  test('counters of guards are told to no watcher', async () => {
    const probe = hooks({ afterModel: () => ({ update: { guards: { probe: 1 } } }) });
    const outcome = await runAgent(agentWith([probe], [{ content: 'one' }]).agent);
    expect(outcome.kind === 'finished' && outcome.last.state.guards).toEqual({ probe: 1 });
    expect(JSON.stringify(outcome.kind === 'finished' && outcome.last.events)).not.toContain('probe');
  });
});
