import Anthropic from '@anthropic-ai/sdk';
import { replaysOfTest } from '../../testing/replay-client.js';
import { anthropic } from './vendor.js';

const start = replaysOfTest();
const tools: Anthropic.Tool[] = [
  { name: 'bash', input_schema: { type: 'object', properties: { command: { type: 'string' } } } },
];
const script = (nonce: string): string => `${nonce}
#think Let me look — carefully 🔍
#say Looking at it
#+think and again
#+tool bash {"command":"ls","z":1,"a":2}
#+tool bash {"command":"pwd"}
#+think third
#+tool bash {"command":"id"}
#think [redacted] a secret
#+think one more
#+tool bash {"command":"cat ünïcode"}
#think done
#say All done: 日本語 text`;

async function client(options: { cutSeed?: number } = {}) {
  const replay = await start({ vendor: anthropic, apiKey: 'secret', ...options });
  return { replay, sdk: new Anthropic({ apiKey: 'secret', baseURL: replay.baseUrl, maxRetries: 0 }) };
}

type Params = Omit<Anthropic.MessageCreateParamsNonStreaming, 'messages'>;

/** Answers calls of tools until the model has ended, as the vendor's documentation shows it. */
async function converse(
  sdk: Anthropic,
  params: Params,
  messages: Anthropic.MessageParam[],
): Promise<Anthropic.Message> {
  for (;;) {
    const message = await sdk.messages.stream({ ...params, messages }).finalMessage();
    messages.push({ role: 'assistant', content: message.content });
    if (message.stop_reason !== 'tool_use') return message;
    const calls = message.content.filter((block) => block.type === 'tool_use');
    messages.push({
      role: 'user',
      content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: `result of ${id}` })),
    });
  }
}

const types = ({ content }: Anthropic.MessageParam): string[] =>
  typeof content === 'string' ? ['text'] : content.map(({ type }) => type);

describe('a conversation of several turns with tools and thinking, by the vendor’s own client', () => {
  test.each<[string, Params, string]>([
    ['adaptive, text omitted', { model: 'claude-opus-5-5', max_tokens: 2000, output_config: { effort: 'low' } }, ''],
    [
      'adaptive, text returned',
      { model: 'claude-sonnet-5-5', max_tokens: 2000, thinking: { type: 'adaptive', display: 'summarized' } },
      'Let me look — carefully 🔍',
    ],
    [
      'adaptive on a model without the check of the prefix',
      { model: 'claude-opus-4-6', max_tokens: 2000, thinking: { type: 'adaptive' } },
      'Let me look — carefully 🔍',
    ],
  ])('%s', async (_what, params, thinking) => {
    const { replay, sdk } = await client({ cutSeed: 7 });
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: script('one') }];
    const last = await converse(sdk, { ...params, system: 'Be brief.', tools }, messages);
    expect(last.content.at(-1)).toMatchObject({ type: 'text', text: 'All done: 日本語 text' });
    expect(messages.map(types)).toEqual([
      ['text'],
      ['thinking', 'text', 'thinking', 'tool_use', 'tool_use', 'thinking', 'tool_use'],
      ['tool_result', 'tool_result', 'tool_result'],
      ['redacted_thinking', 'tool_use'],
      ['tool_result'],
      ['thinking', 'text'],
    ]);
    expect(messages[1]?.content).toMatchObject([
      { thinking, signature: expect.stringMatching(/^[\w+/=]{40,}$/) },
      { text: 'Looking at it' },
      {},
      { input: { command: 'ls', z: 1, a: 2 } },
      { input: { command: 'pwd' } },
      { type: 'thinking' },
      { input: { command: 'id' } },
    ]);
    messages.push({ role: 'user', content: 'two\n#think again\n#say Second' });
    const second = await converse(sdk, { ...params, system: 'Be brief.', tools }, messages);
    expect(second).toMatchObject({ stop_reason: 'end_turn', usage: { output_tokens_details: { thinking_tokens: 1 } } });
    expect(replay.refusals()).toEqual([]);
  });

  test('manual thinking: one block before the first call of a turn', async () => {
    const { replay, sdk } = await client();
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: script('manual') }];
    await converse(
      sdk,
      { model: 'claude-haiku-4-5', max_tokens: 3000, thinking: { type: 'enabled', budget_tokens: 1024 }, tools },
      messages,
    );
    expect(messages.map(types)).toEqual([
      ['text'],
      ['thinking', 'text', 'thinking', 'tool_use', 'tool_use', 'thinking', 'tool_use'],
      ['tool_result', 'tool_result', 'tool_result'],
      ['tool_use'],
      ['tool_result'],
      ['text'],
    ]);
    expect(replay.refusals()).toEqual([]);
  });

  test('without a stream the same message is returned in one body', async () => {
    const { sdk } = await client();
    const params = { model: 'claude-opus-5-5', max_tokens: 2000, tools };
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: script('whole') }];
    const message = await sdk.messages.create({ ...params, messages });
    expect(message).toMatchObject({ stop_reason: 'tool_use', role: 'assistant', stop_details: null });
    expect(message.content.map(({ type }) => type)).toEqual([
      'thinking',
      'text',
      'thinking',
      'tool_use',
      'tool_use',
      'thinking',
      'tool_use',
    ]);
  });
});

describe('errors and ends, as the vendor’s own client sees them', () => {
  const ask = (sdk: Anthropic, content: string, more: Partial<Params> = {}) =>
    sdk.messages
      .stream({ model: 'claude-opus-5-5', max_tokens: 500, ...more, messages: [{ role: 'user', content }] })
      .finalMessage();

  test.each<[string, number | undefined, string]>([
    ['#fault wrong-key', 401, 'authentication_error'],
    ['#error 403 no', 403, 'permission_error'],
    ['#fault model-gone', 404, 'not_found_error'],
    ['#error 413 too large', 413, 'request_too_large'],
    ['#fault context-overflow', 400, 'invalid_request_error'],
    ['#fault rate-limit 2', 429, 'rate_limit_error'],
    ['#fault quota', 402, 'billing_error'],
    ['#error 500 oops', 500, 'api_error'],
    ['#fault overload', 529, 'overloaded_error'],
    ['#say Some text\n#+fault overload', undefined, 'overloaded_error'],
  ])('%s', async (lines, status, type) => {
    const { sdk } = await client({ cutSeed: 3 });
    const error = await ask(sdk, lines).then(
      () => undefined,
      (cause: unknown) => cause,
    );
    expect(error).toBeInstanceOf(Anthropic.APIError);
    expect(error).toMatchObject({ status, error: { type: 'error', error: { type } } });
  });

  test.each<[string, string]>([
    ['#say hi', 'end_turn'],
    ['#say hi\n#+length', 'max_tokens'],
    ['#say hi\n#+fault refusal', 'refusal'],
    ['#say hi\n#+fault stop pause_turn', 'pause_turn'],
    ['#say hi\n#+fault stop model_context_window_exceeded', 'model_context_window_exceeded'],
  ])('%s ends by %s', async (lines, reason) => {
    const { sdk } = await client();
    const message = await ask(sdk, lines);
    expect(message).toMatchObject({ stop_reason: reason, content: [{ type: 'text', text: 'hi' }] });
    expect(message.stop_details?.type).toBe(reason === 'refusal' ? 'refusal' : undefined);
  });

  test('a paused answer may be sent back as it was', async () => {
    const { sdk } = await client();
    const paused = await ask(sdk, '#say one\n#+fault stop pause_turn\n#say two');
    const params = { model: 'claude-opus-5-5', max_tokens: 500 };
    const user = { role: 'user' as const, content: '#say one\n#+fault stop pause_turn\n#say two' };
    const rest = await sdk.messages.create({
      ...params,
      messages: [user, { role: 'assistant', content: paused.content }],
    });
    expect(rest.content).toMatchObject([{ text: 'two' }]);
    const other = sdk.messages.create({
      ...params,
      messages: [user, { role: 'assistant', content: 'something else' }],
    });
    await expect(other).rejects.toThrow(/does not support assistant message prefill/);
  });
});

describe('usage of a client that marks its prompt for the cache', () => {
  const system: Anthropic.TextBlockParam[] = [
    { type: 'text', text: 's'.repeat(8000), cache_control: { type: 'ephemeral' } },
  ];

  test('the first request writes, the second reads, and the server adds up the same', async () => {
    const { replay, sdk } = await client({ cutSeed: 1 });
    const params = { model: 'claude-opus-5-5', max_tokens: 500, system };
    const ask = async (content: string) =>
      (await sdk.messages.stream({ ...params, messages: [{ role: 'user', content }] }).finalMessage()).usage;
    const first = await ask('#say one');
    const second = await ask('#say another one');
    expect(first).toMatchObject({ cache_read_input_tokens: 0, cache_creation_input_tokens: 2007 });
    expect(first.cache_creation).toEqual({ ephemeral_5m_input_tokens: 2007, ephemeral_1h_input_tokens: 0 });
    expect(second).toMatchObject({ cache_read_input_tokens: 2007, cache_creation_input_tokens: 0 });
    expect(replay.usage()).toMatchObject({
      'claude-opus-5-5': {
        answers: 2,
        cachedInput: 2007,
        cacheWritten: 2007,
        input: first.input_tokens + second.input_tokens + 4014,
      },
    });
  });
});
