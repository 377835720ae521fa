import { type GoalChange, newId, type ThreadState } from '@caribou/contracts';
import type { AgentMiddleware, LoopHost, Step } from '@caribou/core';
import { fakeHost, fakeRun, humanMessage, sampleGoal, type ScriptedAnswer, scriptedModel } from '@caribou/testing';
import type { AgentRun } from './agent-run.js';
import { runAgent } from './run-agent.js';

interface Probe extends AgentMiddleware {
  /** The text of the last message at each call of `beforeEnd`. */
  readonly asked: readonly unknown[];
}

/** A middleware that lets the agent continue until there are `answers` answers. */
function continuing(answers: number, isSlow = true): Probe {
  const asked: unknown[] = [];
  return {
    name: 'probe',
    asked,
    isSlowBeforeEnd: () => isSlow,
    beforeEnd: ({ messages, goal }): Promise<Step | undefined> => {
      asked.push(goal?.objective ?? messages.at(-1)?.content);
      const count = messages.filter(({ type }) => type === 'ai').length;
      const again = { again: true, update: { title: `after ${count}`, messages: [humanMessage('go on', newId())] } };
      return Promise.resolve(count < answers ? again : { update: { title: 'done' } });
    },
  };
}

const SCRIPT = [{ content: 'one' }, { content: 'two' }, { content: 'three' }];

function agentWith(
  chain: readonly AgentMiddleware[],
  over: Partial<AgentRun> = {},
  script: readonly ScriptedAnswer[] = SCRIPT,
) {
  const state: ThreadState = { messages: [humanMessage('hi', 'h1')] };
  const host = fakeHost({ state });
  const model = scriptedModel(script);
  const agent: AgentRun = {
    ...{ chain, tools: [], model, systemPrompt: '', options: { maxTurns: 10 }, host, run: fakeRun() },
    ...{ state, step: 0, position: 'start' },
    ...over,
  };
  return { agent, host, model };
}

const textsOf = ({ messages }: ThreadState): readonly unknown[] => messages.map(({ content }) => content);

describe('beforeEnd', () => {
  test('again: the run continues with another model request; answer and continuation are committed one after the other', async () => {
    const probe = continuing(2);
    const { agent, host, model } = agentWith([probe]);

    const outcome = await runAgent(agent);

    expect(model.calls).toHaveLength(2);
    expect(host.commits.map(({ next, state }) => [next, state.title])).toEqual([
      [[], undefined],
      [['model_request'], 'after 1'],
      [[], 'after 1'],
    ]);
    expect(outcome).toMatchObject({ kind: 'finished', last: { next: [], state: { title: 'done' } } });
  });

  test('one that calls nobody costs no commit of the answer', async () => {
    const { agent, host } = agentWith([continuing(1, false)]);

    expect(await runAgent(agent)).toMatchObject({ kind: 'finished', last: { state: { title: 'done' } } });

    expect(host.commits).toEqual([]);
  });

  test('after a takeover at the end the same answer is judged again, and no model called before', async () => {
    const probe = continuing(1);
    const first = agentWith([probe]);
    await runAgent(first.agent);
    const { state } = first.host.head;

    const { agent, model } = agentWith([probe], { state, position: 'end', turnsTaken: 1 });
    expect(await runAgent(agent)).toMatchObject({ kind: 'finished', last: { state: { title: 'done' } } });

    expect(probe.asked).toEqual(['one', 'one']);
    expect(model.calls).toEqual([]);
  });

  test.each<[string, Partial<AgentRun>, readonly ScriptedAnswer[]]>([
    ['that fails', {}, [{ calls: [{ name: 'nowhere' }] }]],
    ['at its limit of turns', {}, [{ content: 'one' }]],
  ])('is not called for a run %s', async (_what, over, script) => {
    const probe = continuing(2);

    await runAgent(agentWith([probe], { ...over, options: { maxTurns: 1 } }, script).agent);

    expect(probe.asked).toEqual([]);
  });

  test('is not called for a run that was stopped early, or has called no model', async () => {
    const probe = continuing(2);
    const stops: AgentMiddleware = {
      name: 'stops',
      afterModel: () => Promise.resolve({ end: true, stopReason: 'token_capped' }),
    };
    const ends: AgentMiddleware = { name: 'ends', beforeAgent: () => Promise.resolve({ end: true }) };

    await runAgent(agentWith([probe, stops]).agent);
    await runAgent(agentWith([probe, ends]).agent);

    expect(probe.asked).toEqual([]);
  });

  test('is not called while messages wait to join, nor when the budget is spent', async () => {
    const probe = continuing(2);
    const { agent, host } = agentWith([probe]);
    let waits = false;
    const model = {
      ...agent.model,
      stream: (...args: Parameters<typeof agent.model.stream>) => ((waits = true), agent.model.stream(...args)),
    };
    const waiting = (): ReturnType<NonNullable<LoopHost['waiting']>> => (waits ? [humanMessage('more', 'm1')] : []);

    await runAgent({ ...agent, model, host: { ...host, waiting } });
    waits = false;
    await runAgent({ ...agent, model, host: { ...host, isBudgetSpent: () => waits } });

    expect(probe.asked).toEqual([]);
  });

  test('a breakpoint before the model ends the run there, with the decision to continue', async () => {
    const options = { maxTurns: 10, interruptAfter: ['model_request'] };
    const { agent } = agentWith([continuing(2)], { options });

    expect(await runAgent(agent)).toMatchObject({
      kind: 'finished',
      last: { next: ['model_request'], state: { title: 'after 1' } },
    });
  });

  test('a pause stops the run before the model request that it would continue with', async () => {
    const { agent, host } = agentWith([continuing(2)]);
    const isPaused = (): boolean => host.commits.some(({ state }) => state.title === 'after 1');

    const outcome = await runAgent({ ...agent, host: { ...host, isPaused } });

    expect(outcome).toMatchObject({ kind: 'finished', last: { next: ['model_request'] } });
    expect(outcome.kind === 'finished' && outcome.last.state.interrupts?.open).toHaveLength(1);
  });
});

describe('a client that changes the goal during a run', () => {
  const changeTo = (objective: string): GoalChange => ({ text: objective, goal: sampleGoal({ objective }) });

  /** A host at which the change waits from `isThere` on until a commit contains it. */
  function hostWith(
    host: LoopHost & { readonly commits: readonly { readonly goalChange?: string }[] },
    change: GoalChange,
    isThere: () => boolean,
  ): LoopHost {
    const isMade = (): boolean => host.commits.some(({ goalChange }) => goalChange === change.text);
    return { ...host, goalChange: () => (isThere() && !isMade() ? change : undefined) };
  }

  test('the next model request is made with the new goal, which the commit before it or after it contains', async () => {
    const { agent, host } = agentWith([continuing(1)]);
    const change = changeTo('new');

    const outcome = await runAgent({ ...agent, host: hostWith(host, change, () => true) });

    expect(host.commits.map(({ goalChange, state }) => [goalChange, state.goal?.objective])).toEqual([['new', 'new']]);
    expect(outcome).toMatchObject({ last: { state: { goal: { objective: 'new' } } } });
    expect(agent.run).toMatchObject({ decisions: ['goal: set'] });
  });

  test('while its end is judged: the verdict on the old one counts for nothing, and the new one is judged', async () => {
    const probe = continuing(2);
    const { agent, host } = agentWith([probe]);
    const change = changeTo('new');
    const isThere = (): boolean => probe.asked.length > 0;
    const overtaken = hostWith(host, change, isThere);
    let refused = 0;
    const commit: LoopHost['commit'] = async (turn, otherwise) => {
      if (otherwise === undefined || refused > 0) return host.commit(turn);
      refused += 1;
      await host.commit(otherwise);
      return 'overtaken';
    };

    const outcome = await runAgent({ ...agent, host: { ...overtaken, commit } });

    expect(probe.asked).toEqual(['one', 'new', 'new']);
    expect(host.commits.map(({ next, state }) => [next, state.title, state.goal?.objective])).toEqual([
      [[], undefined, undefined],
      [[], undefined, undefined],
      [[], undefined, 'new'],
      [['model_request'], 'after 1', 'new'],
      [[], 'after 1', 'new'],
    ]);
    expect(textsOf(outcome.kind === 'yielded' ? { messages: [] } : outcome.last.state)).toEqual([
      'hi',
      'one',
      'go on',
      'two',
    ]);
  });
});
