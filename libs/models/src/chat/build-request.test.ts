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
  protocol: 'chat_completions',
  dialect: 'generic',
  supportsThinking: true,
  supportsVision: false,
  supportsReasoningEffort: false,
  fallbacks: [],
  headers: {},
  body: {},
};
const common = { id: 'i', additional_kwargs: { secret: 'internal' }, response_metadata: { finish_reason: 'stop' } };
const human: Message = { type: 'human', content: 'hello', name: 'user-input', ...common };
const call = (fields: Partial<ModelCall> = {}): ModelCall => ({
  system: 'be kind',
  messages: [human],
  tools: [],
  ...fields,
});
const messagesOf = (messages: Message[], config: Partial<ModelConfig> = {}) =>
  buildRequest({ ...base, ...config }, call({ messages })).messages;

describe('the messages of a request', () => {
  test('begin with one system message that holds every system text', () => {
    const messages = messagesOf([human, { type: 'system', content: 'and brief', ...common }]);
    expect(messages).toEqual([
      { role: 'system', content: 'be kind\n\nand brief' },
      { role: 'user', content: 'hello', name: 'user-input' },
    ]);
  });

  test('hold no other system message, wherever a client put some and whatever their content is made of', () => {
    const system = (content: Message['content']): Message => ({ type: 'system', content, ...common });
    const sent = messagesOf([
      system('one'),
      human,
      system(['tw', { type: 'text', text: 'o' }]),
      system(''),
      system([]),
      human,
      system('three'),
    ]);

    expect(sent.map(({ role }) => role)).toEqual(['system', 'user', 'user']);
    expect(sent[0]?.content).toBe('be kind\n\none\n\ntwo\n\nthree');
  });

  test('hold text and images of users, and no name that OpenAI would refuse', () => {
    const content = [
      'a',
      { type: 'text', text: 'b' },
      { type: 'image_url', image_url: { url: 'data:x', detail: 'low', more: 1 } },
      { type: 'image_url', image_url: 'https://x/y.png' },
      { type: 'reasoning', text: 'no' },
    ];
    expect(messagesOf([{ type: 'human', content, ...common, name: 'no spaces' }])[1]).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
        { type: 'image_url', image_url: { url: 'data:x', detail: 'low' } },
        { type: 'image_url', image_url: { url: 'https://x/y.png' } },
      ],
    });
  });

  const ai: Message = {
    type: 'ai',
    content: '',
    ...common,
    additional_kwargs: { reasoning_content: 'hm', other: 1 },
    tool_calls: [{ name: 'bash', args: { command: 'ls' }, id: 'c1', type: 'tool_call' }],
    invalid_tool_calls: [{ name: 'bash', args: '{"comm', id: 'c2', error: 'cut', type: 'invalid_tool_call' }],
  };

  test('hold calls with JSON arguments, cut ones as none, and results by call id, without additional_kwargs', () => {
    const tool: Message = {
      type: 'tool',
      content: [{ type: 'text', text: 'out' }],
      tool_call_id: 'c1',
      status: 'success',
      ...common,
      name: 'bash',
    };
    expect(messagesOf([ai, tool]).slice(1)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } },
          { id: 'c2', type: 'function', function: { name: 'bash', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'out' },
    ]);
  });

  test('hold earlier reasoning only for a model that asks for it', () => {
    expect(messagesOf([ai])[1]).not.toHaveProperty('reasoning_content');
    expect(messagesOf([ai], { sendReasoning: true })[1]).toMatchObject({ reasoning_content: 'hm' });
  });
});

describe('the fields of a request', () => {
  test('ask for JSON only where the call does', () => {
    expect(buildRequest(base, call({ answerFormat: 'json' }))).toMatchObject({
      response_format: { type: 'json_object' },
    });
    expect(buildRequest(base, call({}))).not.toHaveProperty('response_format');
  });

  test('offer tools only when there are some', () => {
    const tool = { name: 'bash', description: 'runs', parameters: { type: 'object' } };
    expect(buildRequest(base, call({ tools: [tool], toolChoice: 'none' }))).toMatchObject({
      tools: [{ type: 'function', function: tool }],
      tool_choice: 'none',
    });
    expect(buildRequest(base, call({ toolChoice: 'auto' }))).not.toHaveProperty('tool_choice');
  });

  test('hold fields of the call instead of configured ones, up to the configured length', () => {
    const chosen = call({ temperature: 0.2, maxTokens: 300 });
    expect(buildRequest({ ...base, temperature: 1, body: { temperature: 2 } }, chosen)).toMatchObject({
      temperature: 0.2,
      max_tokens: 300,
    });
    expect(buildRequest({ ...base, maxTokens: 100 }, chosen)).toMatchObject({ max_tokens: 100 });
    expect(buildRequest({ ...base, body: { max_tokens: 200 } }, chosen)).toMatchObject({ max_tokens: 200 });
  });

  test("hold temperature, further body fields and max_tokens, under its new name at OpenAI's own endpoint", () => {
    const config = { ...base, maxTokens: 9, temperature: 0, body: { top_p: 1, model: 'forged', stream: false } };
    expect(buildRequest(config, call())).toMatchObject({
      max_tokens: 9,
      temperature: 0,
      top_p: 1,
      model: 'provider-m',
      stream: true,
    });
    const official = buildRequest({ ...config, dialect: 'openai' }, call());
    expect(official).toHaveProperty('max_completion_tokens', 9);
    expect(official).not.toHaveProperty('max_tokens');
  });

  test('hold reasoning_effort only for a model that supports it', () => {
    expect(buildRequest(base, call({ reasoningEffort: 'low' }))).not.toHaveProperty('reasoning_effort');
    expect(buildRequest({ ...base, supportsReasoningEffort: true }, call({ reasoningEffort: 'low' }))).toMatchObject({
      reasoning_effort: 'low',
    });
  });

  const switches: [string, Record<string, unknown>, object, object][] = [
    [
      'extra_body',
      { extra_body: { thinking: { type: 'enabled' } } },
      { thinking: { type: 'enabled' } },
      { thinking: { type: 'disabled' }, reasoning_effort: 'minimal' },
    ],
    [
      'native',
      { thinking: { type: 'enabled', budget_tokens: 5 }, max_tokens: 7 },
      { thinking: { type: 'enabled', budget_tokens: 5 }, max_tokens: 7 },
      { thinking: { type: 'disabled' }, max_tokens: 9 },
    ],
    ['boolean', { extra_body: { enable_thinking: true } }, { enable_thinking: true }, { enable_thinking: false }],
    [
      'template',
      { extra_body: { chat_template_kwargs: { enable_thinking: true, x: 1 } } },
      { chat_template_kwargs: { enable_thinking: true, x: 1 } },
      { chat_template_kwargs: { enable_thinking: false, x: 1 } },
    ],
  ];

  test.each(switches)('switch thinking on and off in the form of the block: %s', (_form, block, on, off) => {
    const config = { ...base, maxTokens: 9, supportsReasoningEffort: true, whenThinkingEnabled: block };
    expect(buildRequest(config, call({ thinkingEnabled: true }))).toMatchObject(on);
    expect(buildRequest(config, call({ thinkingEnabled: false }))).toMatchObject(off);
    expect(buildRequest(config, call())).toMatchObject(off);
  });

  test('hold the configured fields for disabled thinking instead of those derived from the block', () => {
    const config = {
      ...base,
      whenThinkingEnabled: { extra_body: { thinking: { type: 'adaptive' } } },
      whenThinkingDisabled: { extra_body: { reasoning_format: 'deepseek-style' } },
    };
    expect(buildRequest(config, call())).toHaveProperty('reasoning_format', 'deepseek-style');
    expect(buildRequest(config, call())).not.toHaveProperty('thinking');
    expect(buildRequest(config, call({ thinkingEnabled: true }))).not.toHaveProperty('reasoning_format');
  });

  test('refuse thinking of a model whose block is there but not supported, and ignore it without a block', () => {
    const config = { ...base, supportsThinking: false };
    expect(() => buildRequest({ ...config, whenThinkingEnabled: {} }, call({ thinkingEnabled: true }))).toThrow(
      InvalidRequestError,
    );
    expect(buildRequest(config, call({ thinkingEnabled: true }))).not.toHaveProperty('thinking');
  });
});
