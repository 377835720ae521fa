import { type AiMessage, ModelError, type RunEvent, type RunEventOf } from '@caribou/contracts';
import type { AgentMiddleware, CallUsage } from '@caribou/core';
import { leadChain } from '@caribou/middleware';
import {
  type FakeRun,
  fakeRun,
  fakeSandbox,
  humanMessage,
  modelFailure,
  type ScriptedAnswer,
  type ScriptedModel,
  scriptedModel,
} from '@caribou/testing';
import fc from 'fast-check';
import { takeModelTurn } from './model-turn.js';

const state = { messages: [humanMessage('hi')] };

function turn(
  model: ScriptedModel,
  run: FakeRun,
  chain: readonly AgentMiddleware[] = [],
  onUsage: (call: CallUsage) => void = () => undefined,
): Promise<AiMessage> {
  return takeModelTurn({ chain, model, tools: [], systemPrompt: 'be good', run, state, step: 3, onUsage });
}
const retrying = (): readonly AgentMiddleware[] => leadChain({ sandbox: fakeSandbox(), model: scriptedModel([]) });

const deltasOf = (events: readonly RunEvent[], id: string): readonly RunEventOf<'message.delta'>[] =>
  events.filter(
    (event): event is RunEventOf<'message.delta'> => event.kind === 'message.delta' && event.message_id === id,
  );

/** The message a client has after joining its deltas. */
function joined(deltas: readonly RunEventOf<'message.delta'>[]) {
  const chunks = deltas.flatMap((delta) => delta.tool_call_chunks ?? []);
  const indexes = [...new Set(chunks.map((chunk) => chunk.index))];
  return {
    content: deltas.map((delta) => delta.content).join(''),
    reasoning: deltas.map((delta) => delta.reasoning ?? '').join(''),
    calls: indexes.map((index) => {
      const own = chunks.filter((chunk) => chunk.index === index);
      const args = own.map((chunk) => chunk.args).join('');
      return { ids: own.flatMap(({ id }) => id ?? []), names: own.flatMap(({ name }) => name ?? []), args };
    }),
    usage: deltas.flatMap((delta) => (delta.usage === undefined ? [] : [delta.usage])),
  };
}

const text = fc.array(fc.string({ maxLength: 4 }), { maxLength: 5 });
const script: fc.Arbitrary<ScriptedAnswer> = fc.record(
  {
    reasoning: text,
    content: text,
    calls: fc.array(
      fc.record({
        name: fc.constantFrom('bash', 'read_file'),
        args: fc.oneof(
          fc.dictionary(fc.string({ maxLength: 3 }), fc.string({ maxLength: 5 })),
          fc.string({ maxLength: 6 }),
        ),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    usage: fc.constant({ input_tokens: 1, output_tokens: 2, total_tokens: 3 }),
  },
  { requiredKeys: [] },
);

describe(takeModelTurn, () => {
  test('the deltas of a message join to exactly the final message, ids and usage once', async () => {
    await fc.assert(
      fc.asyncProperty(script, async (answer) => {
        const run = fakeRun();

        const message = await turn(scriptedModel([answer]), run);

        const seen = joined(deltasOf(run.events, message.id));
        expect(seen.content).toBe(message.content);
        expect(seen.reasoning).toBe(message.additional_kwargs['reasoning_content'] ?? '');
        expect(seen.usage).toEqual(answer.usage === undefined ? [] : [message.usage_metadata]);
        const calls = [...message.tool_calls, ...message.invalid_tool_calls];
        const told = seen.calls.map(({ ids, names }) => `${ids.join('+')} ${names.join('+')}`);
        expect(new Set(told)).toEqual(new Set(calls.map(({ id, name }) => `${id} ${name}`)));
        expect(told).toHaveLength(calls.length);
        for (const { id, args } of message.tool_calls) {
          const chunked = seen.calls.find((call) => call.ids.includes(id))?.args ?? '';
          expect(chunked.trim() === '' ? {} : JSON.parse(chunked)).toEqual(args);
        }
        for (const { id, args } of message.invalid_tool_calls) {
          expect(seen.calls.find((call) => call.ids.includes(id))?.args).toBe(args);
        }
      }),
    );
  });

  test('the tokens of each complete answer are reported, also of one that a layer replaces or requests again', async () => {
    const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
    const layer: AgentMiddleware = {
      name: 'twice',
      async wrapModelCall(request, next) {
        await next(request);
        const { usage_metadata: _reported, ...answer } = await next(request);
        return { ...answer, id: 'replaced' };
      },
    };
    const calls: CallUsage[] = [];

    const model = scriptedModel([
      { content: 'one', usage },
      { content: 'two', usage },
    ]);
    const message = await turn(model, fakeRun(), [layer], (call) => calls.push(call));

    expect(message).toMatchObject({ id: 'replaced', content: 'one' });
    const call = { caller: 'lead_agent', model: 'scripted', inputTokens: 5, outputTokens: 2 };
    expect(calls).toEqual([call, call]);
  });

  test('call ids are ours and new in every answer, though the provider repeats its own', async () => {
    const model = scriptedModel([{ calls: [{ name: 'bash' }, { name: 'bash' }] }]);

    const first = await turn(model, fakeRun());
    const second = await turn(model, fakeRun());

    const ids = [...first.tool_calls, ...second.tool_calls].map((call) => call.id);
    expect(new Set(ids).size).toBe(4);
    expect(ids.every((id) => /^call_[0-9a-f]{32}$/.test(id))).toBe(true);
  });

  test.each(['[]', '7', '"text"', 'null', '{"a":1', '{"a":1}}'])('arguments %s make an invalid call', async (args) => {
    const message = await turn(scriptedModel([{ calls: [{ name: 'bash', args }] }]), fakeRun());

    expect(message.tool_calls).toEqual([]);
    expect(message.invalid_tool_calls).toMatchObject([{ name: 'bash', args, type: 'invalid_tool_call' }]);
  });

  test('no arguments at all are the empty object', async () => {
    const message = await turn(scriptedModel([{ calls: [{ name: 'bash', args: '' }] }]), fakeRun());

    expect(message.tool_calls).toMatchObject([{ name: 'bash', args: {} }]);
  });

  test('a stream without a finish reason is a retryable failure, not an answer', async () => {
    const cut = turn(scriptedModel([{ content: ['a', 'b'], cutAfter: 1 }]), fakeRun());

    await expect(cut).rejects.toMatchObject({ retryable: true, details: { reason: 'stream_cut' } });
    await expect(cut).rejects.toBeInstanceOf(ModelError);
  });

  test('a message that broke off is dropped, and the retry streams under a new id', async () => {
    const run = fakeRun();

    const message = await turn(
      scriptedModel([[{ content: ['Hel', 'lo'], cutAfter: 1 }, { content: 'Hello' }]]),
      run,
      retrying(),
    );

    const starts = run.events.filter((event) => event.kind === 'model.start');
    const order = run.events.map((event) => event.kind);
    expect(starts.map((event) => event.message_id)).toEqual([expect.not.stringMatching(message.id), message.id]);
    expect(order).toEqual([
      'model.start',
      'message.delta',
      'run.start',
      'custom',
      'model.start',
      'message.delta',
      'message.delta',
    ]);
    expect(run.events[2]).toMatchObject({
      attempt: 1,
      dropped_message_ids: [starts[0]?.message_id],
      checkpoint_id: null,
    });
  });

  test('a failure before the first delta drops nothing', async () => {
    const run = fakeRun();

    await turn(
      scriptedModel([[{ error: modelFailure({ reason: 'connection' }) }, { content: 'hi' }]]),
      run,
      retrying(),
    );

    expect(run.events.map((event) => event.kind)).not.toContain('run.start');
  });

  test('a message that a layer made up is told as one delta', async () => {
    const run = fakeRun();
    const made: AiMessage = {
      type: 'ai',
      id: 'made',
      content: 'from the cache',
      additional_kwargs: {},
      response_metadata: {},
      tool_calls: [{ name: 'bash', args: { command: 'ls' }, id: 'c1', type: 'tool_call' }],
      invalid_tool_calls: [],
    };

    await turn(scriptedModel([]), run, [{ name: 'cache', wrapModelCall: () => Promise.resolve(made) }]);

    expect(run.events.map((event) => event.kind)).toEqual(['message.delta']);
    expect(joined(deltasOf(run.events, 'made'))).toMatchObject({
      content: 'from the cache',
      calls: [{ ids: ['c1'], names: ['bash'], args: '{"command":"ls"}' }],
    });
  });

  test("the run's switches reach the model; thinking is on unless switched off", async () => {
    const model = scriptedModel([]);
    await turn(model, fakeRun());
    const context = { thinking_enabled: false, reasoning_effort: 'low', temperature: 0, max_tokens: 300 } as const;
    await turn(model, fakeRun({ context }));

    expect(model.calls).toMatchObject([
      { system: 'be good', thinkingEnabled: true },
      { thinkingEnabled: false, reasoningEffort: 'low', temperature: 0, maxTokens: 300 },
    ]);
    expect(model.calls[0]).not.toHaveProperty('temperature');
  });
});

describe('fallbacks', () => {
  const refused = modelFailure({ reason: 'quota', providerStatus: 429 });
  const named = (name: string, answer: ScriptedAnswer): ScriptedModel => ({ ...scriptedModel([answer]), name });
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
  const shown = { messages: [{ ...humanMessage('look'), content: [{ type: 'text', text: 'look' }, image] }] };

  test('its tokens are those of the model that answered, and a fallback that reads no images gets a note in their place', async () => {
    const second = named('second', { content: 'hello', usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } });
    const calls: CallUsage[] = [];
    const model = { ...named('first', { error: refused }), supportsVision: true, fallbacks: [second] };
    const chain = leadChain({ sandbox: fakeSandbox(), model });

    const answer = await takeModelTurn({
      chain,
      model,
      tools: [],
      systemPrompt: '',
      run: fakeRun(),
      state: shown,
      step: 1,
      onUsage: (call) => calls.push(call),
    });

    expect(calls).toMatchObject([{ model: 'second', inputTokens: 1 }]);
    expect(answer).toMatchObject({ content: 'hello', response_metadata: { model_name: 'second' } });
    expect(JSON.stringify(model.calls)).toContain('data:image/png');
    expect(JSON.stringify(second.calls)).toContain('An image is left out here');
    expect(JSON.stringify(second.calls)).not.toContain('data:image/png');
  });
});
