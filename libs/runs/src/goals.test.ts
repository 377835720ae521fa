import { type GoalState, textOf } from '@caribou/contracts';
import type { ModelPort } from '@caribou/core';
import { redisRunStore } from '@caribou/state';
import {
  admission,
  dyingStore,
  fakeSandbox,
  human,
  sampleGoal,
  type ScriptedAnswer,
  scriptedModel,
  transcriptFaults,
} from '@caribou/testing';
import { runAgent } from '@caribou/agent';
import { leadChain } from '@caribou/middleware';
import { leadTools } from '@caribou/tools';
import type { AgentLoop } from './run-executor.js';
import { kwargs, LEASE_MS, type RunFixture, type RunKey, SCRIPT, useRunFixture } from './testing/run-fixture.js';

let runs: RunFixture;

useRunFixture((fixture) => {
  runs = fixture;
});

const NOT_MET = '{"satisfied": false, "blocker": "goal_not_met_yet", "reason": "more", "evidence_summary": "some"}';
const MET = '{"satisfied": true, "blocker": "none", "reason": "done", "evidence_summary": "all"}';

/** An evaluator to which a goal is met when an answer has its objective as a word. */
function evaluator(onAsked: () => Promise<unknown> = () => Promise.resolve()): ModelPort & { readonly asked: number } {
  let asked = 0;
  return {
    ...scriptedModel([]),
    name: 'evaluator',
    get asked() {
      return asked;
    },
    async *stream({ messages: [message] }) {
      asked += 1;
      await onAsked();
      const [, objective = '', conversation = ''] =
        /^Goal:\n(\w+)\n\nConversation:\n([^]*)\n\nIs/.exec(textOf(message?.content ?? '')) ?? [];
      yield { content: new RegExp(`Assistant: .*${objective}`).test(conversation) ? MET : NOT_MET };
      yield { finishReason: 'stop' };
    },
  };
}

function agentWith(script: readonly ScriptedAnswer[], judge: ModelPort, sandbox = fakeSandbox()): AgentLoop {
  const model = scriptedModel(script);
  const options = {
    config: { goals: { model_name: 'evaluator' } },
    models: { names: ['evaluator'], get: () => judge },
  };
  return ({ host, run, head, position, turnsTaken }) =>
    runAgent({
      chain: leadChain({ sandbox, model }, options),
      tools: leadTools({ sandbox }),
      model,
      systemPrompt: 'test',
      options: { maxTurns: 30 },
      ...{ host, run, state: head.state, step: head.metadata?.step ?? 0, position, turnsTaken },
    });
}

/** A thread with a goal, and a run that waits. */
async function threadWith(goal: Partial<GoalState>): Promise<RunKey> {
  const { thread_id: threadId } = (await runs.threads.createThread({ userId: 'default', threadId: human('x').id }, {}))
    .record;
  const key = { userId: 'default', threadId };
  await runs.threads.changeGoal(key, sampleGoal(goal));
  return runs.admit(kwargs('count').input, key);
}

async function stateOf(thread: RunKey) {
  const state = (await runs.threads.head(thread))?.state ?? { messages: [] };
  expect(transcriptFaults(state.messages)).toEqual([]);
  const hidden = state.messages.filter(({ name }) => name === 'goal_continuation');
  const answers = state.messages.filter(({ type }) => type === 'ai').map(({ content }) => content);
  return { goal: state.goal, answers, continuations: hidden.length };
}

const numbered = (count: number): ScriptedAnswer[] =>
  Array.from({ length: count }, (_, index) => ({ content: `Answer ${index}.` }));

describe('a run of a thread with a goal', () => {
  test('continues until the goal is met, ends once, and the goal is gone', async () => {
    const thread = await threadWith({ objective: 'END' });

    await runs.takeOver(thread, agentWith([...numbered(2), { content: 'The END.' }], evaluator()));

    expect(await stateOf(thread)).toEqual({
      goal: undefined,
      answers: ['Answer 0.', 'Answer 1.', 'The END.'],
      continuations: 2,
    });
    expect(await runs.endingOf(thread)).toMatchObject({ status: 'success', ends: 1 });
    expect((await runs.threads.getThread(thread)).values.goal).toBeUndefined();
    expect(await runs.threads.getRun(thread, thread.runId)).toMatchObject({ llm_call_count: 3 });
  });

  test('continues 8 times at most, in this run and the next', async () => {
    const thread = await threadWith({ objective: 'END' });

    await runs.takeOver(thread, agentWith(numbered(20), evaluator()));
    const next = await runs.admit(kwargs('again').input, thread);
    await runs.takeOver(next, agentWith(numbered(20), evaluator()));

    const { goal, answers, continuations } = await stateOf(thread);
    expect([answers.length, continuations]).toEqual([10, 8]);
    expect(goal).toMatchObject({
      continuation_count: 8,
      last_evaluation: { run_id: next.runId, stand_down_reason: 'max_continuations_reached' },
    });
  });

  test('ends after two continuations without progress', async () => {
    const thread = await threadWith({ objective: 'END' });

    await runs.takeOver(
      thread,
      agentWith(
        Array.from({ length: 9 }, () => ({ content: 'Same.' })),
        evaluator(),
      ),
    );

    expect(await stateOf(thread)).toMatchObject({
      continuations: 2,
      goal: {
        continuation_count: 2,
        no_progress_count: 2,
        last_evaluation: { stand_down_reason: 'no_progress_detected' },
      },
    });
  });

  test('a goal that is set while the run works is pursued by it', async () => {
    const thread = await runs.admit();
    const judge = evaluator();
    const sandbox = fakeSandbox();
    const setting: typeof sandbox = {
      ...sandbox,
      exec: async (...args) => {
        await runs.threads.changeGoal(thread, sampleGoal({ objective: 'END' }));
        return sandbox.exec(...args);
      },
    };

    await runs.takeOver(thread, agentWith([...SCRIPT, { content: 'The END.' }], judge, setting));

    expect(await stateOf(thread)).toMatchObject({ goal: undefined, continuations: 1 });
    expect(judge.asked).toBe(2);
  });

  test('a goal that is removed or replaced while it is judged decides nothing any more', async () => {
    const removed = await threadWith({ objective: 'END' });
    const replaced = await threadWith({ objective: 'END' });

    const remove = evaluator(() => runs.threads.changeGoal(removed, null));
    await runs.takeOver(removed, agentWith(numbered(9), remove));
    const replace = evaluator(() =>
      replace.asked === 1 ? runs.threads.changeGoal(replaced, sampleGoal({ objective: 'Answer' })) : Promise.resolve(),
    );
    await runs.takeOver(replaced, agentWith(numbered(9), replace));

    expect(await stateOf(removed)).toEqual({ goal: undefined, answers: ['Answer 0.'], continuations: 0 });
    expect(await stateOf(replaced)).toEqual({ goal: undefined, answers: ['Answer 0.'], continuations: 0 });
    for (const thread of [removed, replaced])
      expect(await runs.endingOf(thread)).toMatchObject({ status: 'success', ends: 1 });
  });

  test('a message that is given to the run while its goal is judged comes first', async () => {
    const thread = await threadWith({ objective: 'END' });
    const judge = evaluator(async () => {
      if (judge.asked > 1) return;
      const input = { messages: [human('and this')] };
      await runs.threads.admit({
        ...admission(thread),
        kwargs: { ...kwargs('x'), input },
        multitaskStrategy: 'steer',
      });
    });

    await runs.takeOver(thread, agentWith([{ content: 'One.' }, { content: 'The END.' }], judge));

    const head = await runs.threads.head(thread);
    expect(head?.state.messages.map(({ content }) => content)).toEqual(['count', 'One.', 'and this', 'The END.']);
    expect(head?.state.goal).toBeUndefined();
  });

  test('a turn that is regenerated has the goal as the thread has it now, with its counters', async () => {
    const thread = await threadWith({ objective: 'END', max_continuations: 1 });
    const before = (await runs.threads.head(thread))?.checkpointId ?? '';
    await runs.takeOver(thread, agentWith(numbered(9), evaluator()));
    const { run } = await runs.threads.admit({
      ...admission(thread),
      checkpointId: before,
      kwargs: kwargs('count'),
    });

    const again: RunKey = { ...thread, runId: run.run_id };
    await runs.takeOver(again, agentWith(numbered(9), evaluator()));

    expect(await stateOf(thread)).toMatchObject({ answers: ['Answer 0.'], goal: { continuation_count: 1 } });
  });
});

describe('a process that dies', () => {
  const deaths = Array.from({ length: 11 }, (_, index) => index + 1).flatMap((call) => [
    { call, after: false },
    { call, after: true },
  ]);

  test.each(deaths)(
    'at store call $call (after it: $after) loses no goal and counts no continuation twice',
    async (death) => {
      const thread = await threadWith({ objective: 'END', max_continuations: 2 });
      const sandbox = fakeSandbox();
      const script = [...SCRIPT, ...numbered(9)];
      const { store, died } = dyingStore(redisRunStore(runs.redis, { leaseMs: LEASE_MS }), death);

      const begun = runs.executorOn(store, agentWith(script, evaluator(), sandbox)).handle(thread);
      await Promise.race([died, begun]);
      await runs.takeOver(thread, agentWith(script, evaluator(), sandbox));

      expect(await stateOf(thread)).toMatchObject({
        answers: ['Looking', 'It says one.', 'Answer 0.', 'Answer 1.'],
        continuations: 2,
        goal: { continuation_count: 2, last_evaluation: { stand_down_reason: 'max_continuations_reached' } },
      });
      expect(sandbox.executed).toEqual(['echo one']);
      expect(await runs.endingOf(thread)).toMatchObject({ status: 'success', ends: 1 });
    },
  );
});
