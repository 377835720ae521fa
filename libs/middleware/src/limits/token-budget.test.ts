import { runAgent } from '@caribou/agent';
import { type AiMessage, textOf, type ThreadState, type ToolMessage } from '@caribou/contracts';
import { type AgentMiddleware, type AnyTool, defineTool } from '@caribou/core';
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
import { todo } from '../conversation/todo.js';
import { type TokenBudget, tokenBudget } from './token-budget.js';

const BUDGET: TokenBudget = {
  max_tokens: 100,
  max_input_tokens: null,
  max_output_tokens: null,
  warn_threshold: 0.8,
  hard_stop_threshold: 1,
};
const usageOf = (input: number, output = 0) => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
});
const works = (input: number, output = 0, content = ''): ScriptedAnswer => ({
  content,
  calls: [{ name: 'task' }],
  usage: usageOf(input, output),
});
/** A task whose subagent spends `spent` tokens. */
const task = (spent: number): AnyTool =>
  defineTool({
    name: 'task',
    description: '',
    input: z.object({}),
    run: () => Promise.resolve({ content: 'ok', additionalKwargs: { subagent_token_usage: usageOf(spent) } }),
  });

interface Script {
  readonly budget?: Partial<TokenBudget>;
  readonly chain?: readonly AgentMiddleware[];
  readonly from?: Partial<ThreadState>;
  readonly cuts?: readonly Cut[];
  /** Tokens of each task's subagent. */
  readonly spent?: number;
  readonly runId?: string;
}

async function runScript(model: ScriptedModel, given: Script = {}) {
  const { budget, chain = [], from, cuts = [], spent = 0, runId } = given;
  const start: ThreadState = { messages: [humanMessage('go', 'h1')], ...from };
  const { outcome } = await runWithCuts(start, cuts, ({ attempt, ...place }) =>
    runAgent({
      ...place,
      chain: [...chain, tokenBudget({ ...BUDGET, ...budget })],
      model,
      tools: [task(spent)],
      systemPrompt: '',
      options: { maxTurns: 30 },
      run: fakeRun({ attempt, ...(runId === undefined ? {} : { runId }) }),
    }),
  );
  return { outcome, state: outcome.last.state, spent: outcome.last.state.guards?.['token-budget'] };
}

const hintsOf = ({ calls }: ScriptedModel): readonly string[] =>
  calls.map(({ messages }) =>
    messages.flatMap((message) => (message.name === 'budget_warning' ? [textOf(message.content)] : [])).join(),
  );

describe(tokenBudget, () => {
  test('near the limit the agent is warned once, after the results, in a message that stays in the thread', async () => {
    const model = scriptedModel([works(40), works(39), works(1), works(5), works(5), { content: 'done' }]);

    const { state, outcome } = await runScript(model);

    const hint: unknown = expect.stringContaining('80 of its 100 tokens (80 %)');
    expect(hintsOf(model)).toEqual(['', '', '', hint, hint, hint]);
    expect(transcriptFaults(model.calls[3]?.messages ?? [])).toEqual([]);
    expect(model.calls[3]?.messages.at(-1)).toMatchObject({ additional_kwargs: { hide_from_ui: true } });
    expect(state.messages.filter(({ name }) => name === 'budget_warning')).toHaveLength(1);
    expect(outcome).not.toHaveProperty('stopReason');
  });

  test.each(['', 'I look.'])(
    'at the limit calls beside "%s" are not made, and one answer without tools is asked for',
    async (words) => {
      const model = scriptedModel([works(50), works(50, 0, words), { content: 'What I found.', usage: usageOf(9) }]);

      const { state, outcome } = await runScript(model);

      expect(model.calls.map(({ toolChoice }) => toolChoice)).toEqual([undefined, undefined, 'none']);
      expect(hintsOf(model)[2]).toContain('Answer the person now');
      expect(outcome).toMatchObject({ kind: 'finished', stopReason: 'token_capped' });
      expect(state.messages.slice(-3)).toMatchObject([
        {
          tool_calls: [],
          content: expect.stringContaining(`${words}${words === '' ? '' : '\n\n'}[TOKEN BUDGET REACHED]`) as string,
        },
        { name: 'budget_warning', additional_kwargs: { hide_from_ui: true } },
        { content: 'What I found.' },
      ]);
      expect(transcriptFaults(state.messages)).toEqual([]);
    },
  );

  test('a model that calls tools all the same is not asked again', async () => {
    const model = scriptedModel([works(100), works(1), works(1)]);

    const { state, outcome } = await runScript(model);

    expect(model.calls).toHaveLength(2);
    expect(outcome).toMatchObject({ stopReason: 'token_capped' });
    expect(state.messages.at(-1)).toMatchObject({
      tool_calls: [],
      content: expect.stringContaining('[TOKEN BUDGET REACHED]') as string,
    });
  });

  test('an answer that takes the rest of the budget is just the answer, but nothing is asked for behind it', async () => {
    const model = scriptedModel([{ content: 'done', usage: usageOf(200) }, { content: 'more' }]);

    const { outcome } = await runScript(model, {
      chain: [todo()],
      from: { todos: [{ content: 'x', status: 'pending' }] },
    });

    expect(model.calls).toHaveLength(1);
    expect(outcome).not.toHaveProperty('stopReason');
  });

  test.each<[string, Partial<TokenBudget>, ScriptedAnswer, boolean]>([
    ['the sum', { max_tokens: 10 }, works(5, 5), true],
    ['the sum, not reached', { max_tokens: 11 }, works(5, 5), false],
    ['the input', { max_tokens: null, max_input_tokens: 5 }, works(5, 50), true],
    ['the input, not reached', { max_tokens: null, max_input_tokens: 6 }, works(5, 50), false],
    ['the output', { max_tokens: null, max_output_tokens: 5 }, works(50, 5), true],
    ['the fullest of all', { max_tokens: 1_000, max_input_tokens: 1_000, max_output_tokens: 5 }, works(5, 5), true],
    ['nothing', { max_tokens: null }, works(9_999, 9_999), false],
    ['a share of the limit', { max_tokens: 10, hard_stop_threshold: 0.5 }, works(5), true],
  ])('limited by %s', async (...[, budget, answer, stops]) => {
    const { outcome } = await runScript(scriptedModel([answer, { content: 'done' }]), { budget });

    expect('stopReason' in outcome).toBe(stops);
  });

  test('what subagents spent counts, each result once', async () => {
    const { spent } = await runScript(scriptedModel([works(1), works(2), { content: 'done', usage: usageOf(3) }]), {
      spent: 10,
    });

    expect(spent).toMatchObject({ value: { input: 26, output: 0 } });
  });

  test('usage that is added to an answer later is not counted with it again', async () => {
    const addsUsage: AgentMiddleware = {
      name: 'adds',
      afterModel: ({ messages }) => {
        const asked = messages.filter((message): message is AiMessage => message.type === 'ai');
        const update = { messages: asked.map((message) => ({ ...message, usage_metadata: usageOf(1_000) })) };
        return Promise.resolve({ update });
      },
    };

    const { spent } = await runScript(scriptedModel([works(1), works(2), { content: 'x' }]), { chain: [addsUsage] });

    expect(spent).toMatchObject({ value: { input: 3 } });
  });

  test('an answer that the hook sees twice counts once', async () => {
    const { state } = await runScript(scriptedModel([{ content: 'x', usage: usageOf(5) }]));

    expect(await tokenBudget(BUDGET).afterModel?.(state, fakeRun())).toBeUndefined();
  });

  test('a message that is taken out of the thread stays in the sums', async () => {
    const forgets: AgentMiddleware = {
      name: 'forgets',
      beforeModel: ({ messages }) =>
        Promise.resolve({ update: { messages: messages.slice(1).map(({ id }) => ({ type: 'remove', id })) } }),
    };
    const model = scriptedModel([[works(60), works(60), { content: 'done' }]]);

    const { outcome } = await runScript(model, { chain: [forgets] });

    expect(outcome).toMatchObject({ stopReason: 'token_capped' });
  });

  test('another run begins with the whole budget, and results of the run before are not its own', async () => {
    const first = await runScript(scriptedModel([works(90), { content: 'done' }]));
    const result: ToolMessage = {
      type: 'tool',
      id: 't',
      name: 'task',
      tool_call_id: 'c',
      status: 'success',
      content: '',
      additional_kwargs: { subagent_token_usage: usageOf(500) },
      response_metadata: {},
    };
    const from = { ...first.state, messages: [...first.state.messages, result, humanMessage('more')] };

    const { spent } = await runScript(scriptedModel([{}, {}, works(7), { content: 'done' }]), {
      from,
      runId: '22222222-2222-4222-8222-222222222222',
    });

    expect(spent).toMatchObject({ value: { input: 7 } });
  });

  test('whoever carries the run on, it ends alike: the same sums, hints and calls, and a legal thread', async () => {
    const answer = fc.tuple(fc.nat(40), fc.nat(10), fc.constantFrom('', 'x')).map((given) => works(...given));
    const cut: fc.Arbitrary<Cut> = fc.oneof(
      fc.record({ kind: fc.constant('death' as const), commit: fc.integer({ min: 1, max: 6 }), written: fc.boolean() }),
      fc.record({ kind: fc.constant('yield' as const), commit: fc.integer({ min: 1, max: 6 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { maxLength: 8 }), fc.array(cut, { maxLength: 3 }), async (script, cuts) => {
        const spent = 5;
        const undisturbed = await runScript(scriptedModel(script), { spent });
        const model = scriptedModel(script);
        const disturbed = await runScript(model, { spent, cuts });

        for (const { messages } of model.calls) expect(transcriptFaults(messages)).toEqual([]);
        expect(transcriptFaults(disturbed.state.messages)).toEqual([]);
        expect({ ...disturbed.outcome, last: {} }).toEqual({ ...undisturbed.outcome, last: {} });
        expect(sums(disturbed.state)).toEqual(sums(undisturbed.state));
        expect(disturbed.state.messages.map(({ content }) => content)).toEqual(
          undisturbed.state.messages.map(({ content }) => content),
        );
      }),
      { numRuns: 60 },
    );
  });
});

/** The counters without the id of the last answer, which is new in each attempt. */
const sums = ({ guards }: ThreadState): string => JSON.stringify(guards).replace(/"counted":"[^"]*"/, '');
