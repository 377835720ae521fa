import type { HumanMessage } from '@caribou/contracts';
import type { ModelPort } from '@caribou/core';
import { redisRunStore } from '@caribou/state';
import {
  admission,
  dyingStore,
  type FakeSandbox,
  fakeSandbox,
  human,
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

/** Gives a message to the run in flight, as a gateway does. */
const steer = (thread: RunKey, message: HumanMessage) =>
  runs.threads.admit({
    ...admission(thread),
    kwargs: { ...kwargs('x'), input: { messages: [message] } },
    multitaskStrategy: 'steer',
  });

interface Moments {
  /** Called during the model call of this number, from 0, before its answer. */
  readonly duringModel?: (call: number) => Promise<unknown>;
  readonly duringTool?: () => Promise<unknown>;
}

/** The agent with moments at which a test acts; the limit of turns is that of the lead agent's loop. */
function agentWith(
  sandbox: FakeSandbox,
  script: readonly ScriptedAnswer[],
  moments: Moments,
  maxTurns = 10,
): AgentLoop {
  const scripted = scriptedModel(script);
  const model: ModelPort = {
    ...scripted,
    async *stream(call, options) {
      const turn = call.messages.filter(({ type }) => type === 'ai').length;
      await moments.duringModel?.(turn);
      yield* scripted.stream(call, options);
    },
  };
  const slow: FakeSandbox = {
    ...sandbox,
    exec: async (...args) => {
      await moments.duringTool?.();
      return sandbox.exec(...args);
    },
  };
  return ({ host, run, head, position, turnsTaken }) =>
    runAgent({
      chain: leadChain({ sandbox: slow, model }),
      tools: leadTools({ sandbox: slow }),
      model,
      systemPrompt: 'test',
      options: { maxTurns },
      ...{ host, run, state: head.state, step: head.metadata?.step ?? 0, position, turnsTaken },
    });
}

const transcriptOf = async (thread: RunKey) => {
  const messages = (await runs.threads.head(thread))?.state.messages ?? [];
  expect(transcriptFaults(messages)).toEqual([]);
  return messages.map(({ type, content }) => [type, content]);
};

const STEERED = [
  ['human', 'count'],
  ['ai', 'Looking'],
  ['tool', 'one\n'],
  ['human', 'briefly'],
  ['ai', 'It says one.'],
];

describe('a message that is given to a run under way', () => {
  test.each([
    [
      'during the model call',
      (give: () => Promise<unknown>): Moments => ({ duringModel: (call) => (call === 0 ? give() : Promise.resolve()) }),
    ],
    ['during the tool call', (give: () => Promise<unknown>): Moments => ({ duringTool: give })],
  ])('%s: it follows the results and the model sees it in its next request', async (_, momentsOf) => {
    const thread = await runs.admit();
    const sandbox = fakeSandbox();
    const message = human('briefly');

    await runs.takeOver(
      thread,
      agentWith(
        sandbox,
        SCRIPT,
        momentsOf(() => steer(thread, message)),
      ),
    );

    expect(await transcriptOf(thread)).toEqual(STEERED);
    expect(await runs.endingOf(thread)).toMatchObject({ status: 'success', ends: 1 });
    expect(await runs.threads.getRun(thread, thread.runId)).toMatchObject({ steered: 1, llm_call_count: 2 });
  });

  test('during the last answer: the run continues with another model request and ends once', async () => {
    const thread = await runs.admit();
    const message = human('and now?');
    const script = [{ content: 'First.' }, { content: 'Second.' }];
    const moments: Moments = { duringModel: (call) => (call === 0 ? steer(thread, message) : Promise.resolve()) };

    await runs.takeOver(thread, agentWith(fakeSandbox(), script, moments));

    expect(await transcriptOf(thread)).toEqual([
      ['human', 'count'],
      ['ai', 'First.'],
      ['human', 'and now?'],
      ['ai', 'Second.'],
    ]);
    expect(await runs.endingOf(thread)).toMatchObject({ status: 'success', ends: 1 });
    expect(await runs.threads.getRun(thread, thread.runId)).toMatchObject({ llm_call_count: 2 });
  });

  test('the limit of turns holds, and the message is part of the thread', async () => {
    const thread = await runs.admit();
    const message = human('and now?');
    const moments: Moments = { duringModel: () => steer(thread, message) };

    await runs.takeOver(thread, agentWith(fakeSandbox(), [{ content: 'First.' }], moments, 1));

    expect((await transcriptOf(thread)).slice(0, 3)).toEqual([
      ['human', 'count'],
      ['ai', 'First.'],
      ['human', 'and now?'],
    ]);
    expect(await runs.endingOf(thread)).toMatchObject({ status: 'error', error: { name: 'GraphRecursionError' } });
  });

  test('a run that failed leaves it to the next run, which takes it before its own input', async () => {
    const thread = await runs.admit();
    const failing: AgentLoop = async () => {
      await steer(thread, human('left'));
      throw new Error('defect');
    };
    await runs.takeOver(thread, failing);
    expect(await runs.endingOf(thread)).toMatchObject({ status: 'error' });

    const next = await runs.admit(kwargs('again').input, thread);
    await runs.takeOver(next, agentWith(fakeSandbox(), [{ content: 'Both.' }], {}));

    expect(await transcriptOf(next)).toEqual([
      ['human', 'count'],
      ['human', 'left'],
      ['human', 'again'],
      ['ai', 'Both.'],
    ]);
  });

  test('given to a run that waits, it follows the input of that run', async () => {
    const thread = await runs.admit();
    await steer(thread, human('and this'));

    await runs.takeOver(thread, agentWith(fakeSandbox(), [{ content: 'Both.' }], {}));

    expect(await transcriptOf(thread)).toEqual([
      ['human', 'count'],
      ['human', 'and this'],
      ['ai', 'Both.'],
    ]);
    expect((await runs.threads.getThread(thread)).values.title).toBe('count');
  });

  const deaths = Array.from({ length: 13 }, (_, index) => index + 1).flatMap((call) => [
    { call, after: false },
    { call, after: true },
  ]);

  test.each(deaths)('a death at store call $call (after it: $after) loses and repeats nothing', async (death) => {
    const thread = await runs.admit();
    const sandbox = fakeSandbox();
    const [first, second] = [human('briefly'), human('really')];
    const script = [...SCRIPT, { content: 'Done.' }];
    const moments: Moments = {
      duringModel: async (call) => {
        if (call === 0) await steer(thread, first);
        if (call === 1) await steer(thread, second);
      },
    };
    const { store, died } = dyingStore(redisRunStore(runs.redis, { leaseMs: LEASE_MS }), death);

    const begun = runs.executorOn(store, agentWith(sandbox, script, moments)).handle(thread);
    await Promise.race([died, begun]);
    await runs.takeOver(thread, agentWith(sandbox, script, moments));

    // An answer that was not committed is requested again, and then sees the message that came during it.
    const transcript = await transcriptOf(thread);
    const isGiven = ([type, content]: readonly unknown[]): boolean =>
      type === 'human' && (content === 'briefly' || content === 'really');
    expect(transcript.filter(isGiven)).toEqual([
      ['human', 'briefly'],
      ['human', 'really'],
    ]);
    const others = transcript.filter((message) => !isGiven(message));
    expect(others.slice(0, 4)).toEqual(STEERED.filter((message) => !isGiven(message)));
    expect(transcript.at(-1)?.[0]).toBe('ai');
    expect(sandbox.executed).toEqual(['echo one']);
    expect(await runs.endingOf(thread)).toMatchObject({ status: 'success', ends: 1 });
    expect(await runs.threads.getRun(thread, thread.runId)).toMatchObject({ steered: 2 });
  });
});
