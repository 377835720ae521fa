import { runAgent } from '@caribou/agent';
import { type AiMessage, type HumanMessage, textOf, type ThreadState, type ToolCall } from '@caribou/contracts';
import { type AgentMiddleware, type AnyTool, defineTool, type RunContext } from '@caribou/core';
import {
  type Cut,
  fakeRun,
  humanMessage,
  runWithCuts,
  type ScriptedAnswer,
  type ScriptedModel,
  scriptedModel,
  transcriptFaults,
} from '@caribou/testing';
import fc from 'fast-check';
import { z } from 'zod';
import { runHooks } from '../chain/hooks.js';
import { loopDetection } from './loop-detection.js';
import type { LoopLimits } from './loop-memory.js';
import { subagentLimit } from './subagent-limit.js';

const LIMITS: LoopLimits = {
  warn_threshold: 3,
  hard_limit: 5,
  window_size: 20,
  tool_freq_warn: 30,
  tool_freq_hard_limit: 50,
  tool_freq_overrides: {},
};
const tool = (name: string): AnyTool =>
  defineTool({
    name,
    description: '',
    input: z.object({ command: z.string().optional() }),
    run: () => Promise.resolve({ content: 'ok' }),
  });

interface Script {
  readonly model: ScriptedModel;
  readonly chain?: readonly AgentMiddleware[];
  readonly cuts?: readonly Cut[];
  readonly from?: ThreadState;
  readonly run?: Partial<RunContext>;
}

async function runScript({ model, chain = [loopDetection(LIMITS)], cuts = [], from, run }: Script) {
  const { outcome } = await runWithCuts(from ?? { messages: [humanMessage('go')] }, cuts, ({ attempt, ...place }) =>
    runAgent({
      ...place,
      chain,
      model,
      tools: ['bash', 'ls', 'task'].map(tool),
      systemPrompt: '',
      options: { maxTurns: 100 },
      run: fakeRun({ attempt, ...run }),
    }),
  );
  return { outcome, state: outcome.last.state };
}

const bash = (command: string): ScriptedAnswer => ({ content: 'Look.', calls: [{ name: 'bash', args: { command } }] });
const looping = (count: number): ScriptedAnswer[] => Array.from({ length: count }, () => bash('a'));
const warningsOf = ({ calls }: ScriptedModel): readonly HumanMessage[][] =>
  calls.map(({ messages }) =>
    messages.filter((message): message is HumanMessage => message.type === 'human' && message.name === 'loop_warning'),
  );

describe(loopDetection, () => {
  test('the warning follows the results, stays in the thread, and is hidden from clients', async () => {
    const model = scriptedModel(looping(4));

    const { state, outcome } = await runScript({ model });

    expect(warningsOf(model).map((list) => list.length)).toEqual([0, 0, 0, 1, 1]);
    const request = model.calls[3]?.messages ?? [];
    expect(transcriptFaults(request)).toEqual([]);
    expect(request.at(-2)?.type).toBe('tool');
    expect(request.at(-1)).toMatchObject({ name: 'loop_warning', additional_kwargs: { hide_from_ui: true } });
    expect(textOf(request.at(-1)?.content ?? '')).toMatch(/\(bash\) was made 3 times/);
    expect(state.messages.filter(({ name }) => name === 'loop_warning')).toHaveLength(1);
    expect(outcome).not.toHaveProperty('stopReason');
  });

  test('the fifth time the calls are not made: the run ends with a visible text and a reason', async () => {
    const model = scriptedModel(looping(9));

    const { state, outcome } = await runScript({ model });

    expect(outcome).toMatchObject({ kind: 'finished', stopReason: 'loop_capped' });
    expect(model.calls).toHaveLength(5);
    expect(state.messages.at(-1)).toMatchObject({
      type: 'ai',
      content: expect.stringMatching(/^Look\.\n\n\[FORCED STOP\] .*\(bash\) .* 5 times/) as string,
      tool_calls: [],
      response_metadata: { finish_reason: 'stop' },
    });
    expect(transcriptFaults(state.messages)).toEqual([]);
  });

  test('calls with unreadable arguments do not go on for ever', async () => {
    const model = scriptedModel(Array.from({ length: 9 }, () => ({ calls: [{ name: 'bash', args: '{"cut' }] })));

    const { state } = await runScript({ model });

    expect(model.calls).toHaveLength(5);
    expect(state.messages.at(-1)).toMatchObject({ invalid_tool_calls: [] });
  });

  test('a tool that is called too often is warned of and stopped, each with its own text', async () => {
    const chain = [loopDetection({ ...LIMITS, tool_freq_overrides: { bash: { warn: 2, hard_limit: 4 } } })];
    const model = scriptedModel(Array.from({ length: 9 }, (_, at) => bash(`${at}`)));

    const { outcome, state } = await runScript({ model, chain });

    expect(warningsOf(model).map((list) => list.map(({ content }) => textOf(content)))).toEqual([
      [],
      [],
      [expect.stringContaining('bash was called 2 times')],
      [expect.stringContaining('bash was called 2 times')],
    ]);
    expect(outcome).toMatchObject({ stopReason: 'loop_capped' });
    expect(textOf(state.messages.at(-1)?.content ?? '')).toContain('[FORCED STOP] bash was called 4 times');
  });

  test('the next run of the thread continues counting, but gets no warning of the previous run', async () => {
    const run = { runId: '22222222-2222-4222-8222-222222222222' };
    const first = await runScript({ model: scriptedModel([...looping(2), { content: 'done' }]) });
    const asked = (state: ThreadState): ThreadState => ({
      ...state,
      messages: [...state.messages, humanMessage('go')],
    });
    const model = scriptedModel([{}, {}, {}, bash('a'), { content: 'done' }]);

    await runScript({ model, from: asked(first.state), run });

    expect(warningsOf(model).map((list) => list.length)).toEqual([0, 1]);

    const queued = await runScript({ model: scriptedModel(looping(3)), chain: [ends, loopDetection(LIMITS)] });
    const later = scriptedModel([]);
    await runScript({ model: later, from: asked(queued.state), run });
    expect(warningsOf(later)).toEqual([[]]);
  });

  test('a warning that was not delivered before a hand-over is delivered after it, once', async () => {
    const model = scriptedModel(looping(4));

    const { state } = await runScript({ model, cuts: [{ kind: 'yield', commit: 6 }] });

    expect(warningsOf(model).map((list) => list.length)).toEqual([0, 0, 0, 1, 1]);
    expect(state.guards).toHaveProperty('loop-detection.run.queue', []);
  });

  test('a warning before an answer without calls is not repeated when the model is called once more', async () => {
    const again: AgentMiddleware = {
      name: 'again',
      afterModel: ({ messages }) =>
        Promise.resolve({ again: messages.filter(({ type }) => type === 'ai').length === 4 }),
    };
    const model = scriptedModel([...looping(3), { content: 'done' }, { content: 'really' }]);

    await runScript({ model, chain: [again, loopDetection(LIMITS)] });

    expect(warningsOf(model).map((list) => list.length)).toEqual([0, 0, 0, 1, 1]);
  });

  test.each<[string, AiMessage['content'], unknown]>([
    [
      'a list',
      [{ type: 'text', text: 'x' }],
      [
        { type: 'text', text: 'x' },
        { type: 'text', text: STOP() },
      ],
    ],
    ['empty text', '', STOP()],
  ])('content that is %s gets the text too', async (_what, content, expected) => {
    const state = (): ThreadState => ({ messages: [{ ...asks('bash'), content }] });
    const { afterModel } = loopDetection({ ...LIMITS, hard_limit: 1 });

    expect((await afterModel?.(state(), fakeRun()))?.update?.messages?.[0]).toMatchObject({ content: expected });
  });

  test('the limit of subagents still sees the answer after a warning, and loops are detected by the uncut set', async () => {
    const chain = [subagentLimit({ max_concurrent: 1, max_total_per_run: 50 }), loopDetection(LIMITS)];
    let state: ThreadState = { messages: [] };
    for (const at of [1, 2, 3]) {
      state = { ...state, messages: [{ ...asks('task', 'task'), id: `a${at}` }] };
      state = (await runHooks(chain, 'afterModel', { state, run: fakeRun() })).state;
      expect(state.messages).toMatchObject([{ tool_calls: [{ name: 'task' }] }]);
    }

    expect(state.guards).toMatchObject({
      'loop-detection': { calls: [[expect.any(String), 6]], run: { queue: [{ kind: 'repeated' }] } },
    });
  });
});

function STOP(): unknown {
  return expect.stringContaining('[FORCED STOP]');
}

/** Ends the run before the model would hear the first warning. */
const ends: AgentMiddleware = {
  name: 'ends',
  beforeModel: ({ messages }) => Promise.resolve({ end: messages.filter(({ type }) => type === 'tool').length === 3 }),
};

function asks(...names: readonly string[]): AiMessage {
  const calls = names.map((name, at): ToolCall => ({ name, args: {}, id: `c${at}`, type: 'tool_call' }));
  return {
    type: 'ai',
    id: 'a',
    content: '',
    additional_kwargs: {},
    response_metadata: {},
    tool_calls: calls,
    invalid_tool_calls: [],
  };
}

describe('whatever is called', () => {
  const call = fc.record({
    name: fc.constantFrom('bash', 'ls', 'task'),
    args: fc.record({ command: fc.constantFrom('a', 'b') }),
  });
  const answer = fc.record({
    content: fc.constantFrom('', 'x'),
    calls: fc.array(call, { minLength: 1, maxLength: 3 }),
  });
  const cut: fc.Arbitrary<Cut> = fc.oneof(
    fc.record({ kind: fc.constant('death' as const), commit: fc.integer({ min: 1, max: 9 }), written: fc.boolean() }),
    fc.record({ kind: fc.constant('yield' as const), commit: fc.integer({ min: 1, max: 9 }) }),
  );
  const limits = { ...LIMITS, warn_threshold: 2, hard_limit: 4, tool_freq_warn: 6, tool_freq_hard_limit: 9 };
  const chain = [subagentLimit({ max_concurrent: 2, max_total_per_run: 4 }), loopDetection(limits)];

  test('every request and the thread are legal, and counters are the same whoever carried the run', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { maxLength: 14 }), fc.array(cut, { maxLength: 4 }), async (script, cuts) => {
        const models = [scriptedModel(script), scriptedModel(script)] as const;
        const undisturbed = await runScript({ model: models[0], chain });
        const disturbed = await runScript({ model: models[1], chain, cuts });

        for (const { messages } of models[1].calls) expect(transcriptFaults(messages)).toEqual([]);
        expect(transcriptFaults(disturbed.state.messages)).toEqual([]);
        expect(disturbed.state.guards).toEqual(undisturbed.state.guards);
        expect(disturbed.state.messages).toHaveLength(undisturbed.state.messages.length);
        expect(heard(models[1])).toEqual(heard(models[0]));
      }),
      { numRuns: 60 },
    );
  });

  /** The warnings each turn heard; a turn that was asked twice counts once. */
  function heard(model: ScriptedModel): readonly string[] {
    const turns = model.calls.map(({ messages }, at) => {
      const turn = messages.filter(({ type }) => type === 'ai').length;
      return `${turn}: ${(warningsOf(model)[at] ?? []).map(({ content }) => textOf(content)).join()}`;
    });
    return [...new Set(turns)];
  }
});
