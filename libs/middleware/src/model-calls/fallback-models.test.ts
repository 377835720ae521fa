import { type AiMessage, type ModelError } from '@caribou/contracts';
import type { ModelGate, ModelPort, ModelRequest } from '@caribou/core';
import { type FakeRun, fakeRun, modelFailure, scriptedModel } from '@caribou/testing';
import type { CallableModel } from './fallback-models.js';
import { gateModel } from './gated-model.js';
import { llmError, type LlmErrorOptions } from './llm-error.js';

const request: ModelRequest = { model: 'first', system: '', messages: [], tools: [], state: { messages: [] } };

const model = (name: string, maxInputTokens?: number): CallableModel => ({
  name,
  endpoint: { provider: 'api.example.org/v1', model: name },
  ...(maxInputTokens === undefined ? {} : { maxInputTokens }),
});

const answerOf = (name: string): AiMessage => ({
  type: 'ai',
  id: name,
  content: `by ${name}`,
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
});

/** The names of the models that were called, and the answer, when these models fail in this way at every call. */
async function callThrough(
  called: CallableModel,
  failing: Readonly<Record<string, Error>>,
  options: LlmErrorOptions = {},
  run: FakeRun = fakeRun(),
) {
  const calls: string[] = [];
  const next = ({ model: name }: ModelRequest): Promise<AiMessage> => {
    calls.push(name);
    const failure = failing[name];
    return failure === undefined ? Promise.resolve(answerOf(name)) : Promise.reject(failure);
  };
  const message = await llmError(called, { random: () => 0.5, ...options }).wrapModelCall?.(request, next, run);
  return { calls, message, run };
}

const down = modelFailure({ reason: 'server', providerStatus: 503 });
const tooLong = modelFailure({ reason: 'context_length', providerStatus: 400 });
const busy = (retryAfterMs: number): ModelError =>
  modelFailure({ reason: 'rate_limited', providerStatus: 429, retryAfterMs });

describe('fallbacks of a model', () => {
  test('one answers after the attempts of the model, and the transcript and the client see which', async () => {
    const { calls, message, run } = await callThrough(
      { ...model('first'), fallbacks: [model('second') as ModelPort] },
      { first: down },
    );

    expect(calls).toEqual(['first', 'first', 'first', 'second']);
    expect(message).toMatchObject({
      content: 'by second',
      additional_kwargs: { model_fallback: { model: 'first', fallback: 'second', reason: 'transient' } },
    });
    expect(run.events.at(-1)).toMatchObject({
      kind: 'custom',
      data: { type: 'llm_fallback', model: 'first', fallback: 'second', reason: 'transient' },
    });
  });

  test('the next one is called when one fails too, and the last failure is shown', async () => {
    const fallbacks = [model('second'), model('third')] as ModelPort[];
    const quota = modelFailure({ reason: 'quota', providerStatus: 429 });

    const answered = await callThrough({ ...model('first'), fallbacks }, { first: quota, second: quota });
    const failed = await callThrough({ ...model('first'), fallbacks }, { first: quota, second: quota, third: down });

    expect(answered.calls).toEqual(['first', 'second', 'third']);
    expect(answered.message?.additional_kwargs).toEqual({
      model_fallback: { model: 'first', fallback: 'third', reason: 'quota' },
    });
    expect(failed.calls).toEqual(['first', 'second', 'third', 'third', 'third']);
    expect(failed.message?.additional_kwargs).toMatchObject({
      deerflow_error_fallback: true,
      error_reason: 'transient',
    });
  });

  test('a rate limit is waited out up to the bound, and not beyond', async () => {
    const called = { ...model('first'), fallbacks: [model('second') as ModelPort] };

    const short = await callThrough(called, { first: busy(9_000) });
    const long = await callThrough(called, { first: busy(11_000) });
    const alone = await callThrough(model('first'), { first: busy(11_000) });

    expect(short.run.sleepsMs).toEqual([9_000, 9_000]);
    expect(long).toMatchObject({ calls: ['first', 'second'], run: { sleepsMs: [] } });
    expect(alone.calls).toEqual(['first', 'first', 'first']);
  });

  test('a conversation that is too long is passed to models that read more, or whose size is unknown', async () => {
    const fallbacks = [model('small', 1_000), model('large', 9_000)] as ModelPort[];

    expect((await callThrough({ ...model('first', 2_000), fallbacks }, { first: tooLong })).calls).toEqual([
      'first',
      'large',
    ]);
    expect((await callThrough({ ...model('first'), fallbacks }, { first: tooLong })).calls).toEqual(['first', 'small']);
  });

  test.each([
    { reason: 'auth', providerStatus: 401 },
    { reason: 'bad_request', providerStatus: 400 },
    { reason: 'not_configured' },
    { reason: 'too_large' },
  ])('$reason is shown, not passed on', async (details) => {
    const called = { ...model('first'), fallbacks: [model('second') as ModelPort] };

    expect((await callThrough(called, { first: modelFailure(details) })).calls).toEqual(['first']);
  });

  test('an open circuit passes the call on, under the permit of the fallback', async () => {
    const asked: string[] = [];
    const gate: ModelGate = {
      acquire: ({ model: name }) => {
        asked.push(name);
        if (name === 'first') return Promise.resolve({ kind: 'refused', reason: 'circuit_open' });
        return Promise.resolve({ kind: 'admitted', permit: { probe: false, release: () => Promise.resolve() } });
      },
    };
    const called = { ...model('first'), fallbacks: [model('second') as ModelPort] };

    const { calls, message } = await callThrough(called, {}, { gate });

    expect(asked).toEqual(['first', 'second']);
    expect(calls).toEqual(['second']);
    expect(message?.additional_kwargs).toMatchObject({ model_fallback: { reason: 'circuit_open' } });
  });
});

describe('fallbacks of calls outside the loop', () => {
  const admitting: ModelGate = {
    acquire: () => Promise.resolve({ kind: 'admitted', permit: { probe: false, release: () => Promise.resolve() } }),
  };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const named = (name: string, ...script: Parameters<typeof scriptedModel>): ModelPort => ({
    ...scriptedModel(...script),
    name,
  });
  const read = async (called: ModelPort) => {
    const deltas = [];
    const options = { userId: 'alice', signal: new AbortController().signal };
    for await (const delta of gateModel(called, admitting).stream({ system: '', messages: [], tools: [] }, options))
      deltas.push(delta);
    return deltas;
  };

  test('one answers when the model fails at the start, and the usage names it', async () => {
    const second = named('second', [{ content: 'hello', usage }]);

    const deltas = await read({ ...named('first', [{ error: down }]), fallbacks: [second] });

    expect(deltas.map(({ content = '' }) => content).join('')).toBe('hello');
    expect(deltas.filter((delta) => delta.usage !== undefined)).toMatchObject([{ usage, answeredBy: 'second' }]);
  });

  test('an answer that has begun is not begun again by another model', async () => {
    const second = named('second', [{ content: 'hello' }]);

    await expect(
      read({ ...named('first', [{ content: ['a', 'b'], cutAfter: 1, error: down }]), fallbacks: [second] }),
    ).rejects.toBe(down);
  });
});
