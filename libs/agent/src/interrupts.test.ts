import { type Message, newId, textOf, type ThreadInterrupts, type ThreadState } from '@caribou/contracts';
import { type AgentMiddleware, type AnyTool, answerInterrupts, type LoopOutcome, type TurnCommit } from '@caribou/core';
import { fakeHost, type FakeRun, fakeRun, humanMessage, scriptedModel } from '@caribou/testing';
import type { AgentRun } from './agent-run.js';
import { runAgent } from './run-agent.js';

const BYE = { content: ['bye'] };
const AT = '2026-01-01T00:00:00.000Z';

/** A tool that asks, and then returns the answer and the key under which an executor would store its result. */
const askingTool = (seen: string[]): AnyTool => ({
  name: 'ask',
  description: '',
  parameters: {},
  async invoke(_args, { run, key }) {
    const { value, by } = await run.interrupt({ value: { question: 'May I?' } });
    seen.push(key);
    return { content: `answered ${JSON.stringify(value)} by ${by ?? 'nobody'}` };
  },
});
const plainTool: AnyTool = {
  name: 'plain',
  description: '',
  parameters: {},
  invoke: () => Promise.resolve({ content: 'done' }),
};

interface Parts {
  readonly state: ThreadState;
  readonly chain?: readonly AgentMiddleware[];
  readonly tools?: readonly AnyTool[];
  readonly position?: AgentRun['position'];
  readonly answers?: Parameters<typeof scriptedModel>[0];
  readonly run?: FakeRun;
}

const run = ({ state, chain = [], tools = [], position = 'start', answers = [], ...rest }: Parts) =>
  runAgent({
    chain,
    tools,
    model: scriptedModel(answers),
    systemPrompt: '',
    options: { maxTurns: 5 },
    host: fakeHost({ state }),
    run: rest.run ?? fakeRun(),
    state,
    step: 3,
    position,
  });

function lastOf(outcome: LoopOutcome): TurnCommit {
  if (outcome.kind !== 'finished') throw new Error(`the run ended as ${outcome.kind}`);
  return outcome.last;
}

/** The state when the first open interrupt, or the named ones, have been answered. */
function answered({ state }: TurnCommit, answer: unknown, which = 1): ThreadState {
  const interrupts = state.interrupts as ThreadInterrupts;
  const answers = Object.fromEntries(interrupts.open.slice(0, which).map(({ id }) => [id, answer]));
  return { ...state, interrupts: answerInterrupts(interrupts, answers, { by: 'alice', at: AT }) };
}

const start = (): ThreadState => ({ messages: [humanMessage('go', 'h1')] });
const texts = ({ messages }: { readonly messages: readonly Message[] }): readonly string[] =>
  messages.map((message) => `${message.type}: ${textOf(message.content)}`);

describe('a tool that asks a person', () => {
  const answers = [{ content: [], calls: [{ name: 'plain' }, { name: 'ask' }] }, { content: ['bye'] }];

  test('stops the run with the results of the other calls, and gets the answer in a later run', async () => {
    const seen: string[] = [];
    const tools = [plainTool, askingTool(seen)];
    const model = { chain: [], tools, answers };
    const first = fakeRun({ runId: 'run-1' });

    const stopped = lastOf(await run({ state: start(), ...model, run: first }));

    expect(stopped.next).toEqual(['tools']);
    expect(texts(stopped.state)).toEqual(['human: go', 'ai: ', 'tool: done']);
    const [asked] = stopped.state.interrupts?.open ?? [];
    expect(asked).toMatchObject({ value: { question: 'May I?' }, run_id: 'run-1', decider: 'owner', kind: 'question' });
    expect(stopped.events).toContainEqual(
      expect.objectContaining({
        kind: 'task.end',
        update: null,
        interrupts: [expect.objectContaining({ id: asked?.id })],
      }),
    );

    const state = answered(stopped, 'yes');
    const second = await run({
      state,
      position: 'tools',
      tools,
      answers,
      run: fakeRun({ runId: 'run-2' }),
    });

    expect(texts(lastOf(second).state)).toEqual([
      'human: go',
      'ai: ',
      'tool: done',
      'tool: answered "yes" by alice',
      'ai: bye',
    ]);
    expect(lastOf(second).state.interrupts).toBeUndefined();
    // The call belongs to the run that asked, so that it is executed once, whichever run executes it.
    expect(seen).toEqual([expect.stringMatching(/^run-1:/)]);
  });

  test('asks under the same id after a takeover, and under another one in another run', async () => {
    const callId = newId();
    const state: ThreadState = {
      messages: [
        humanMessage('go', 'h1'),
        {
          ...{
            type: 'ai',
            id: 'a1',
            content: '',
            additional_kwargs: {},
            response_metadata: {},
            invalid_tool_calls: [],
          },
          tool_calls: [{ type: 'tool_call', id: callId, name: 'ask', args: {} }],
        },
      ],
    };
    const idIn = async (runId: string, attempt: number): Promise<string | undefined> => {
      const outcome = await run({
        ...{ state, position: 'tools', tools: [askingTool([])] },
        run: fakeRun({ runId, attempt }),
      });
      return lastOf(outcome).state.interrupts?.open[0]?.id;
    };

    const id = await idIn('run-1', 1);
    expect(await idIn('run-1', 2)).toBe(id);
    expect(await idIn('run-2', 1)).not.toBe(id);
  });

  test('several calls are answered one by one, each once', async () => {
    const seen: string[] = [];
    const tools = [askingTool(seen)];
    const calls = [{ name: 'ask' }, { name: 'ask' }];
    const stopped = lastOf(await run({ state: start(), tools, answers: [{ content: [], calls }] }));
    expect(new Set(stopped.state.interrupts?.open.map(({ id }) => id)).size).toBe(2);
    const second = stopped.state.interrupts?.open[1]?.id;

    const half = lastOf(await run({ state: answered(stopped, 1), position: 'tools', tools }));

    expect(half.next).toEqual(['tools']);
    expect(half.state.interrupts?.open).toEqual([expect.objectContaining({ id: second })]);
    expect(texts(half.state).at(-1)).toBe('tool: answered 1 by alice');
    const whole = lastOf(
      await run({ state: answered(half, 2), position: 'tools', tools, answers: [{ content: [], calls }, BYE] }),
    );
    expect(texts(whole.state).slice(-2)).toEqual(['tool: answered 2 by alice', 'ai: bye']);
    expect(seen).toHaveLength(2);
  });

  test('of more than a hundred questions the first are open, and the others are asked when those are answered', async () => {
    const seen: string[] = [];
    const tools = [askingTool(seen)];
    const calls = Array.from({ length: 103 }, () => ({ name: 'ask' }));
    const answers = [{ content: [], calls }, BYE];
    const stopped = lastOf(await run({ state: start(), tools, answers }));
    expect(stopped.state.interrupts?.open).toHaveLength(100);

    const rest = lastOf(await run({ state: answered(stopped, 1, 100), position: 'tools', tools, answers }));
    expect(rest.state.interrupts?.open).toHaveLength(3);
    const done = lastOf(await run({ state: answered(rest, 2, 3), position: 'tools', tools, answers }));

    expect(texts(done.state).at(-1)).toBe('ai: bye');
    expect(new Set(seen).size).toBe(103);
  });

  test('one tool may ask twice: its first answer is there again when the second comes', async () => {
    const tool: AnyTool = {
      ...plainTool,
      name: 'ask',
      async invoke(_args, { run: asking }) {
        const first = await asking.interrupt({ value: 1 });
        const second = await asking.interrupt({ value: 2 });
        return { content: JSON.stringify([first.value, second.value]) };
      },
    };
    const parts = { tools: [tool], position: 'tools' as const };
    const stopped = lastOf(
      await run({ ...parts, state: start(), position: 'start', answers: [{ content: [], calls: [{ name: 'ask' }] }] }),
    );
    const again = lastOf(await run({ ...parts, state: answered(stopped, 'a') }));
    expect(again.state.interrupts).toMatchObject({ open: [{ value: 2 }], answered: [{ answer: 'a' }] });

    const done = lastOf(
      await run({ ...parts, state: answered(again, 'b'), answers: [{ content: [], calls: [] }, BYE] }),
    );
    expect(texts(done.state).slice(-2)).toEqual(['tool: ["a","b"]', 'ai: bye']);
  });
});

describe('a hook that asks a person', () => {
  const asking = (hook: 'beforeAgent' | 'beforeModel' | 'afterModel', got: unknown[]): AgentMiddleware => ({
    name: 'asking',
    [hook]: async (_state: ThreadState, { interrupt }: FakeRun) => {
      got.push((await interrupt({ value: hook })).value);
      return undefined;
    },
  });

  test.each([
    ['beforeAgent', 'model_request', 'start'],
    ['beforeModel', 'model_request', 'model_request'],
    ['afterModel', 'after_model', 'after_model'],
  ] as const)('%s: the run stops before %s and repeats the hook with the answer', async (hook, next, position) => {
    const got: unknown[] = [];
    const chain = [asking(hook, got)];
    const stopped = lastOf(await run({ state: start(), chain, answers: [{ content: ['hello'] }] }));
    expect(stopped.next).toEqual([next]);
    expect(stopped.state.interrupts?.open).toMatchObject([{ value: hook }]);

    const done = lastOf(
      await run({ state: answered(stopped, { ok: true }), chain, position, answers: [{ content: ['hello'] }] }),
    );

    expect(got).toEqual([{ ok: true }]);
    expect(texts(done.state)).toEqual(['human: go', 'ai: hello']);
    expect(done.state.interrupts).toBeUndefined();
  });

  test('afterAgent cannot ask: the run fails with a clear error', async () => {
    const late: AgentMiddleware = {
      name: 'late',
      afterAgent: async (_state, { interrupt }) => {
        await interrupt({ value: 1 });
        return undefined;
      },
    };
    await expect(run({ state: start(), chain: [late], answers: [{ content: ['hello'] }] })).rejects.toThrow(
      'interrupt may be called by the hooks beforeAgent, beforeModel, afterModel and wrapToolCall, and by tools',
    );
  });

  test('a value above the limit fails the call that asks', async () => {
    const tool: AnyTool = {
      ...plainTool,
      name: 'ask',
      invoke: async (_args, { run: big }) => ({ content: (await big.interrupt({ value: 'x'.repeat(70_000) })).id }),
    };
    await expect(
      run({ state: start(), tools: [tool], answers: [{ content: [], calls: [{ name: 'ask' }] }] }),
    ).rejects.toThrow('the limit is 65536');
  });
});
