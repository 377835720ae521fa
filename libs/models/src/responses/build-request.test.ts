import { type ModelConfig, Secret } from '@caribou/config';
import { InvalidRequestError, type Message } from '@caribou/contracts';
import type { ModelCall } from '@caribou/core';
import { buildRequest } from './build-request.js';

const base: ModelConfig = {
  name: 'm',
  displayName: 'm',
  description: '',
  model: 'provider-m',
  apiKey: new Secret('sk-1'),
  baseUrl: 'http://127.0.0.1:9/v1',
  protocol: 'responses',
  dialect: 'generic',
  supportsThinking: false,
  supportsVision: false,
  supportsReasoningEffort: false,
  sendReasoning: false,
  fallbacks: [],
  headers: {},
  body: {},
};
const common = { additional_kwargs: {}, response_metadata: {} };
const human = (content: Message['content'], id = 'h'): Message => ({ type: 'human', content, id, ...common });
const call = (fields: Partial<ModelCall> = {}): ModelCall => ({
  system: 'be kind',
  messages: [human('hello')],
  tools: [],
  ...fields,
});
const tool = { name: 'bash', description: 'runs', parameters: { type: 'object' } };
const requestOf = (config: Partial<ModelConfig>, fields: Partial<ModelCall> = {}) =>
  buildRequest({ ...base, ...config }, call(fields));

describe('the input of a request', () => {
  const inputOf = (messages: Message[], system = 'be kind') => requestOf({}, { messages, system }).input;

  test('begins with the system prompt; later system messages stay where they are', () => {
    const system = (content: Message['content']): Message => ({ type: 'system', id: 's', content, ...common });
    const input = inputOf([system(['on', { type: 'text', text: 'e' }]), human('hello'), system(''), system('two')]);
    expect(input).toEqual([
      { type: 'message', role: 'system', content: 'be kind' },
      { type: 'message', role: 'system', content: 'one' },
      { type: 'message', role: 'user', content: 'hello' },
      { type: 'message', role: 'system', content: 'two' },
    ]);
    expect(inputOf([human('hello')], '')).toHaveLength(1);
  });

  test('has text and images of users, with a detail that the endpoint knows, and no other blocks or names', () => {
    const message: Message = {
      ...{ type: 'human', id: 'h', name: 'reminder', ...common },
      content: [
        'a',
        { type: 'text', text: 'b' },
        { type: 'image_url', image_url: { url: 'data:x', detail: 'low', more: 1 } },
        { type: 'image_url', image_url: { url: 'data:y', detail: 'huge' } },
        { type: 'image_url', image_url: 'https://x/y.png' },
        { type: 'image_url' },
        { type: 'reasoning', text: 'no' },
      ],
    };
    expect(inputOf([message], '')).toEqual([
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'a' },
          { type: 'input_text', text: 'b' },
          { type: 'input_image', image_url: 'data:x', detail: 'low' },
          { type: 'input_image', image_url: 'data:y', detail: 'auto' },
          { type: 'input_image', image_url: 'https://x/y.png', detail: 'auto' },
        ],
      },
    ]);
    expect(inputOf([human([{ type: 'text', text: 'b' }])], '')).toEqual([
      { type: 'message', role: 'user', content: 'b' },
    ]);
  });

  test('has results by the id of their call, which is shortened for both to 64 characters', () => {
    const long = `mcp__${'x'.repeat(80)}`;
    const asked = (id: string): Message => ({
      ...{ type: 'ai', id: 'a', content: '', ...common, invalid_tool_calls: [] },
      tool_calls: [{ name: 'bash', args: { command: 'ls' }, id, type: 'tool_call' }],
    });
    const result = (id: string): Message => ({
      ...{ type: 'tool', id: 't', tool_call_id: id, name: 'bash', status: 'success', ...common },
      content: [{ type: 'text', text: 'out' }],
    });
    expect(inputOf([asked('c1'), result('c1')], '')).toEqual([
      { type: 'function_call', call_id: 'c1', name: 'bash', arguments: '{"command":"ls"}' },
      { type: 'function_call_output', call_id: 'c1', output: 'out' },
    ]);
    const ids = JSON.stringify(inputOf([asked(long), result(long), asked(`${long}y`)], '')).match(
      /call_[0-9a-f]{40}"/g,
    );
    expect(new Set(ids)).toHaveProperty('size', 2);
    expect(ids?.[0]).toBe(ids?.[1]);
  });
});

describe('the fields of a request', () => {
  test('ask for a stream of which nothing is stored, whatever the configuration says', () => {
    expect(requestOf({ body: { store: true, stream: false, model: 'forged', input: 'x', top_p: 1 } })).toEqual({
      model: 'provider-m',
      input: expect.any(Array) as unknown,
      store: false,
      stream: true,
      top_p: 1,
    });
  });

  test('offer tools without strict mode, next to those of the provider from the configuration', () => {
    const flat = { type: 'function', ...tool, strict: false };
    expect(requestOf({}, { tools: [tool], toolChoice: 'none' })).toMatchObject({ tools: [flat], tool_choice: 'none' });
    const search = { type: 'web_search' };
    expect(requestOf({ body: { tools: [search] } }, { tools: [tool] }).tools).toEqual([search, flat]);
    expect(requestOf({ body: { tools: [search] } }).tools).toEqual([search]);
    expect(requestOf({}, { toolChoice: 'auto' })).not.toHaveProperty('tool_choice');
    expect(requestOf({ body: { parallel_tool_calls: false } })).toMatchObject({ parallel_tool_calls: false });
  });

  test('serialize a tool to the same object in each request', () => {
    const [first] = requestOf({}, { tools: [tool] }).tools ?? [];
    expect(requestOf({}, { tools: [tool] }).tools?.[0]).toBe(first);
  });

  test('have the names of Responses for fields of chat completions', () => {
    const schema = { name: 'answer', schema: { type: 'object' }, strict: true };
    const body = {
      max_completion_tokens: 200,
      verbosity: 'low',
      response_format: { type: 'json_schema', json_schema: schema },
    };
    expect(requestOf({ body })).toMatchObject({
      max_output_tokens: 200,
      text: { verbosity: 'low', format: { type: 'json_schema', ...schema } },
    });
    for (const name of Object.keys(body)) expect(requestOf({ body })).not.toHaveProperty(name);
    expect(requestOf({ body }, { answerFormat: 'json' }).text).toEqual({
      verbosity: 'low',
      format: { type: 'json_object' },
    });
    expect(requestOf({}, { answerFormat: 'json' }).text).toEqual({ format: { type: 'json_object' } });
  });

  test('limit the answer to the lower of both lengths, and to no less than 16', () => {
    const lengths = [
      requestOf({ maxTokens: 300 }),
      requestOf({ maxTokens: 300 }, { maxTokens: 200 }),
      requestOf({ maxTokens: 300 }, { maxTokens: 400 }),
      requestOf({ body: { max_tokens: 100 }, maxTokens: 300 }, { maxTokens: 400 }),
      requestOf({}, { maxTokens: 5 }),
      requestOf({}),
    ];
    expect(lengths.map((request) => request.max_output_tokens)).toEqual([300, 200, 300, 100, 16, undefined]);
  });

  test('have a temperature, for a model that reasons only when its entry has one', () => {
    const temperatures = [
      requestOf({}, { temperature: 0.5 }),
      requestOf({ temperature: 0 }),
      requestOf({ supportsThinking: true }, { temperature: 0.5 }),
      requestOf({ supportsThinking: true, temperature: 1 }, { temperature: 0.5 }),
      requestOf({ supportsThinking: true, body: { temperature: 1 } }),
    ];
    expect(temperatures.map(({ temperature }) => temperature)).toEqual([0.5, 0, undefined, 0.5, 1]);
  });

  test('ask for encrypted reasoning of models that reason, besides what is configured', () => {
    const encrypted = 'reasoning.encrypted_content';
    const include = ['web_search_call.action.sources', encrypted];
    expect(requestOf({})).not.toHaveProperty('include');
    expect(requestOf({ supportsThinking: true }).include).toEqual([encrypted]);
    expect(requestOf({ supportsReasoningEffort: true, body: { include } }).include).toEqual(include);
    expect(requestOf({ body: { reasoning: { summary: 'auto' } } }).include).toEqual([encrypted]);
  });

  test('have the effort of the call, else of the configuration, for a model that supports it', () => {
    const supportsReasoningEffort = true;
    const body = { reasoning: { effort: 'high', summary: 'auto' } };
    const efforts = [
      requestOf({ supportsReasoningEffort }, { reasoningEffort: 'low' }),
      requestOf({ supportsReasoningEffort, body: { reasoning_effort: 'medium' } }),
      requestOf({ supportsReasoningEffort, body }, { reasoningEffort: 'low' }),
      requestOf({ body }, { reasoningEffort: 'low' }),
      requestOf({ body: { reasoning_effort: 'medium' } }, { reasoningEffort: 'low' }),
    ];
    expect(efforts.map(({ reasoning }) => reasoning)).toEqual([
      { effort: 'low' },
      { effort: 'medium' },
      { effort: 'low', summary: 'auto' },
      { effort: 'high', summary: 'auto' },
      undefined,
    ]);
    expect(efforts.every((request) => !('reasoning_effort' in request))).toBe(true);
  });

  test('switch thinking by the blocks of the configuration', () => {
    const config = {
      supportsThinking: true,
      supportsReasoningEffort: true,
      body: { reasoning: { summary: 'auto' } },
      whenThinkingEnabled: { reasoning: { effort: 'high' }, max_tokens: 900 },
    };
    expect(requestOf(config, { thinkingEnabled: true })).toMatchObject({
      reasoning: { effort: 'high', summary: 'auto' },
      max_output_tokens: 900,
    });
    expect(requestOf(config, { thinkingEnabled: false }).reasoning).toEqual({ summary: 'auto' });
    const disabled = { ...config, whenThinkingDisabled: { reasoning: { effort: 'none' } } };
    expect(requestOf(disabled).reasoning).toEqual({ effort: 'none', summary: 'auto' });
    const native = { ...config, whenThinkingEnabled: { extra_body: { thinking: { type: 'enabled' } } } };
    expect(requestOf(native)).toMatchObject({ thinking: { type: 'disabled' }, reasoning: { effort: 'minimal' } });
    expect(() => requestOf({ ...config, supportsThinking: false }, { thinkingEnabled: true })).toThrow(
      InvalidRequestError,
    );
  });

  test("have a cache key of the thread's first message at OpenAI and Azure, unless one is configured", () => {
    const hidden = { ...human('date', 'thread-context:0'), additional_kwargs: { hide_from_ui: true } };
    const keyOf = (messages: Message[], config: Partial<ModelConfig> = {}) =>
      requestOf({ dialect: 'openai', ...config }, { messages }).prompt_cache_key;
    const key = keyOf([hidden, human('a', 'h1')]);
    expect(key).toMatch(/^[0-9a-f]{32}$/);
    expect(keyOf([hidden, human('a', 'h1'), human('b', 'h2')])).toBe(key);
    expect(keyOf([hidden, human('a', 'h2')], { dialect: 'azure' })).not.toBe(key);
    expect(keyOf([human('a', 'h1')], { body: { prompt_cache_key: 'mine' } })).toBe('mine');
    expect([keyOf([hidden]), keyOf([human('a')], { dialect: 'generic' })]).toEqual([undefined, undefined]);
  });
});
