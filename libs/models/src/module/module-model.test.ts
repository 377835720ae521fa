import { type ModelConfig, Secret } from '@caribou/config';
import { type AiMessage, ModelError } from '@caribou/contracts';
import { type ModelCall, type ModelDelta, type ModelModule, type ModuleDelta, silentLogger } from '@caribou/core';
import { createModelCatalog } from '../model-catalog.js';
import { call, KEY } from '../testing/scripted-provider.js';

const clocks = { modelConnectMs: 100, modelFirstByteMs: 100, modelChunkMs: 100 };
const config: ModelConfig = {
  name: 'own',
  displayName: 'own',
  description: '',
  model: 'own-1',
  protocol: 'module',
  dialect: 'generic',
  apiKey: new Secret(KEY),
  baseUrl: 'file:///x.mjs',
  supportsThinking: false,
  supportsVision: false,
  supportsReasoningEffort: false,
  sendReasoning: false,
  fallbacks: [],
  headers: {},
  body: {},
  maxTokens: 50,
  temperature: 0.5,
};

const modelOf = (stream: (...args: Parameters<ModelModule['stream']>) => unknown) => {
  const modules = new Map([['own', { stream } as ModelModule]]);
  return createModelCatalog([config], { clocks, logger: silentLogger, modules }).get('own');
};
async function* deltas(...given: readonly unknown[]): AsyncGenerator<unknown> {
  for (const delta of given) yield await Promise.resolve(delta);
}
async function read(
  stream: Parameters<typeof modelOf>[0],
  signal = new AbortController().signal,
  asked: ModelCall = call,
): Promise<readonly ModelDelta[]> {
  const answer: ModelDelta[] = [];
  for await (const delta of modelOf(stream).stream(asked, { userId: 'alice', signal })) answer.push(delta);
  return answer;
}
const failureOf = (stream: Parameters<typeof modelOf>[0]) => read(stream).catch((error: unknown) => error);
const end: ModuleDelta = { finishReason: 'stop' };

describe('a model of a module', () => {
  test('its deltas are those of the product', async () => {
    const usage = {
      inputTokens: 9,
      outputTokens: 4,
      cachedInputTokens: 3,
      cacheWriteTokens: 2,
      reasoningTokens: 1,
    };
    const answer = await read(() =>
      deltas(
        { reasoning: 'hm' },
        { text: 'hi', toolCalls: [{ index: 0, id: 'a', name: 'ls', args: '{}' }] },
        { toolCalls: [{ index: 1, name: 'pwd' }], extras: { calls: { 1: { signature: 's' } } } },
        { ...end, usage, metadata: { model_name: 'own-1b' } },
      ),
    );

    expect(answer).toEqual([
      { reasoning: 'hm' },
      { content: 'hi', toolCallChunks: [{ index: 0, id: 'a', name: 'ls', args: '{}', type: 'tool_call_chunk' }] },
      {
        toolCallChunks: [{ index: 1, id: null, name: 'pwd', args: '', type: 'tool_call_chunk' }],
        extras: { calls: { 1: { signature: 's' } } },
      },
      {
        finishReason: 'stop',
        usage: {
          input_tokens: 9,
          output_tokens: 4,
          total_tokens: 13,
          input_token_details: { cache_read: 3, cache_creation: 2 },
          output_token_details: { reasoning: 1 },
        },
        responseMetadata: { model_name: 'own-1b' },
      },
    ]);
  });

  test('it is asked with the limits of its entry, and sees its own extras only', async () => {
    const answered = (id: string, provider: string): AiMessage => ({
      type: 'ai',
      id,
      content: 'x',
      additional_kwargs: {},
      response_metadata: {},
      tool_calls: [],
      invalid_tool_calls: [],
      provider_extras: { provider, model: 'own-1', dialect: 'generic', message: id },
    });
    let asked: ModelCall | undefined;
    const messages = [answered('1', 'module:own'), answered('2', 'api.example.org/v1')];

    await read(
      (given) => {
        asked = given;
        return deltas(end);
      },
      undefined,
      { ...call, messages, maxTokens: 80 },
    );

    expect(asked).toMatchObject({ system: 'be kind', temperature: 0.5, maxTokens: 50 });
    expect(asked?.messages.map((message) => 'provider_extras' in message)).toEqual([true, false]);
  });

  test.each([
    ['a text', 'hello', 'delta.'],
    ['an unknown key', { content: 'hello' }, 'delta.: Unrecognized key: "content"'],
    ['a negative count', { usage: { inputTokens: -1, outputTokens: 0 } }, 'delta.usage.inputTokens'],
    ['a call beyond the limit', { toolCalls: [{ index: 128 }] }, 'delta.toolCalls.0.index'],
  ])('%s instead of a delta fails the call and names the key', async (_what, delta, text) => {
    expect(await failureOf(() => deltas({ text: 'a' }, delta, end))).toMatchObject({
      message: expect.stringContaining(text) as string,
      retryable: true,
      details: { reason: 'malformed' },
    });
  });

  test('an answer without a finish reason was cut', async () => {
    expect(await failureOf(() => deltas({ text: 'a' }))).toMatchObject({ details: { reason: 'stream_cut' } });
  });

  test('what is no stream of deltas is an error of the configuration', async () => {
    expect(await failureOf(() => 'hello')).toMatchObject({
      message: expect.stringContaining('stream must return an async iterable') as string,
      details: { reason: 'not_configured' },
    });
  });

  test('an answer that is too long ends as one that reached the limit of the model', async () => {
    const mebibyte = 'x'.repeat(1024 * 1024);
    let left = false;
    const endless = async function* (): AsyncGenerator<unknown> {
      try {
        for (;;) yield await Promise.resolve({ text: mebibyte });
      } finally {
        left = true;
      }
    };

    const answer = await read(() => endless());

    expect(answer).toHaveLength(5);
    expect(answer.at(-1)).toEqual({
      finishReason: 'length',
      responseMetadata: { answer_limit_chars: 4 * 1024 * 1024 },
    });
    expect(left).toBe(true);
  });

  test('extras that are too large fail the answer', async () => {
    const extras = { message: 'x'.repeat(5 * 1024 * 1024) };
    expect(await failureOf(() => deltas({ extras }, end))).toMatchObject({ details: { reason: 'too_large' } });
  });

  test('silence ends it by the clocks of all models, and an abort at once', async () => {
    const silent = () => new Promise<never>(() => undefined);
    const stuck = { [Symbol.asyncIterator]: () => ({ next: silent, return: silent }) };
    const begun = async function* (): AsyncGenerator<unknown> {
      yield { text: 'a' };
      await silent();
    };
    const cancel = new AbortController();
    const cancelled = read(() => stuck, cancel.signal);
    cancel.abort(new Error('stopped'));

    await expect(cancelled).rejects.toThrow('stopped');
    expect(await failureOf(() => stuck)).toMatchObject({ details: { reason: 'first_byte_timeout' } });
    expect(await failureOf(() => begun())).toMatchObject({ details: { reason: 'chunk_timeout' } });
  });

  test.each<[Readonly<Record<string, unknown>>, object]>([
    [
      { status: 429, headers: new Headers({ 'retry-after': '7' }) },
      { reason: 'rate_limited', retryAfterMs: 7_000 },
    ],
    [
      { statusCode: 503, responseHeaders: { 'Retry-After': '1' } },
      { reason: 'server', retryAfterMs: 1_000 },
    ],
    [{ statusCode: 401 }, { reason: 'auth', providerStatus: 401 }],
    [{ statusCode: 400, text: 'maximum context length is 8' }, { reason: 'context_length' }],
    [{}, { reason: 'connection' }],
  ])('its error %j is judged like that of any provider, without the key', async ({ text, ...fields }, details) => {
    const thrown = Object.assign(new Error(`${String(text)} with ${KEY}`), fields);
    const failing = async function* (): AsyncGenerator<unknown> {
      yield { text: 'a' };
      await Promise.reject(thrown);
    };

    const failure = await failureOf(() => failing());

    expect(failure).toBeInstanceOf(ModelError);
    expect(failure).toMatchObject({ details });
    expect(JSON.stringify((failure as ModelError).details)).not.toContain(KEY);
  });

  test('one that was not loaded stops the start', () => {
    expect(() => createModelCatalog([config], { clocks, logger: silentLogger })).toThrow('was not loaded');
  });
});
