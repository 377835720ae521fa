import {
  anthropicVendor as vendor,
  answers,
  asks,
  checkMessages as check,
  hello,
  mark,
  refusalBy as messageOf,
  result,
  says,
  text,
  tool,
  use,
} from '../../testing/messages-request.js';

describe('requests that Anthropic accepts', () => {
  test.each<[string, object]>([
    ['a first message', {}],
    ['parallel calls, answered in any order', { messages: [hello, asks('a', 'b'), answers('b', 'a')] }],
    ['calls answered over two messages of the user', { messages: [hello, asks('a', 'b'), answers('a'), answers('b')] }],
    ['text after the results', { messages: [hello, asks('a'), { role: 'user', content: [result('a'), text('go')] }] }],
    [
      'system messages, where the model takes them',
      { model: 'claude-opus-5-5', messages: [hello, { role: 'system', content: 'x' }] },
    ],
    [
      'pictures and documents',
      says(
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
        { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' }, title: 'T' },
      ),
    ],
    ['four marks', { ...says(text('a', mark)), system: [text('s', mark)], tools: [{ ...tool, ...mark }], ...mark }],
    ['manual thinking', { thinking: { type: 'enabled', budget_tokens: 1024 } }],
    ['adaptive thinking with a forced tool', { thinking: { type: 'adaptive' }, tool_choice: { type: 'any' } }],
    ['an effort', { model: 'claude-opus-5-5', output_config: { effort: 'xhigh' } }],
    [
      'a prefill, where the model takes it',
      { model: 'claude-sonnet-4-5', messages: [hello, { role: 'assistant', content: 'I' }] },
    ],
  ])('%s', (_what, body) => {
    expect(() => check(body)).not.toThrow();
  });
});

describe('shape of fields', () => {
  test.each<[string, object, string]>([
    ['no max_tokens', { max_tokens: undefined }, 'max_tokens: Field required'],
    ['an unknown field', { stream_options: {} }, 'stream_options: Extra inputs are not permitted'],
    [
      'an unknown field of a block',
      says(text('a', { index: 0 })),
      'messages.0.content.0.text.index: Extra inputs are not permitted',
    ],
    ['a name on a message', { messages: [{ ...hello, name: 'x' }] }, 'messages.0.name: Extra inputs are not permitted'],
    [
      'a mark on thinking',
      {
        messages: [
          hello,
          { role: 'assistant', content: [{ type: 'thinking', thinking: '', signature: 's', ...mark }] },
        ],
      },
      'messages.1.content.0.thinking.cache_control: Extra inputs are not permitted',
    ],
    [
      'thinking without a signature',
      { messages: [hello, { role: 'assistant', content: [{ type: 'thinking', thinking: 'x' }] }] },
      'messages.1.content.0.thinking.signature: Field required',
    ],
    [
      'a block of another vendor',
      says({ type: 'image_url', image_url: { url: 'x' } }),
      "messages.0.content.0.type: Input tag 'image_url'",
    ],
    ['a message of a tool', { messages: [{ role: 'tool', content: 'x' }] }, 'messages.0.role: Input should be valid'],
    [
      'a media type that is no picture',
      says({ type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: 'aGk=' } }),
      'messages.0.content.0.image.source.media_type: Input should be valid',
    ],
    [
      'a picture as a data URL',
      says({ type: 'image', source: { type: 'url', url: 'data:image/png;base64,aGk=' } }),
      'messages.0.content.0.image.source.url',
    ],
    [
      'a tool in the shape of OpenAI',
      { tools: [{ type: 'function', function: { name: 'x' } }] },
      'tools.0.type: Input tag',
    ],
    [
      'a name of a tool with a dot',
      { tools: [{ ...tool, name: 'a.b' }] },
      'tools.0.custom.name: String should match pattern',
    ],
    [
      'a schema that is no object',
      { tools: [{ ...tool, input_schema: { type: 'string' } }] },
      'tools.0.custom.input_schema.type',
    ],
    [
      'a budget below 1024',
      { thinking: { type: 'enabled', budget_tokens: 1000 } },
      'thinking.budget_tokens: Input should be greater than or equal to 1024',
    ],
    [
      'the input of a call as text',
      { messages: [hello, { role: 'assistant', content: [{ ...use('a'), input: '{}' }] }, answers('a')] },
      'messages.1.content.0.tool_use.input: Input should be valid',
    ],
  ])('%s', (_what, body, message) => {
    expect(messageOf(() => check(body))).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      message: expect.stringContaining(message),
    });
  });
});

describe('headers', () => {
  test.each<[string, Record<string, string | undefined>, number, string]>([
    ['no key', { 'x-api-key': undefined }, 401, 'x-api-key header is required'],
    ['no version', { 'anthropic-version': undefined }, 400, 'anthropic-version: header is required'],
    ['another version', { 'anthropic-version': '2026-01-01' }, 400, 'is not a valid version'],
    ['another content type', { 'content-type': 'text/plain' }, 400, 'content-type'],
  ])('%s', (_what, more, status, message) => {
    expect(messageOf(() => check({}, more))).toMatchObject({ status, message: expect.stringContaining(message) });
  });
});

describe('version 2026-10-21', () => {
  const newer = { 'anthropic-version': '2026-10-21' };

  test.each<[string, object, string]>([
    ['a temperature of 1', { temperature: 1 }, 'temperature: Extra inputs are not permitted'],
    ['top_p', { top_p: 1 }, 'top_p: Extra inputs are not permitted'],
    ['top_k', { top_k: 1 }, 'top_k: Extra inputs are not permitted'],
    ['citations of a user', says(text('a', { citations: [{}] })), 'messages.0.content.0.text.citations'],
  ])('%s is refused by it only', (_what, body, message) => {
    expect(() => check(body)).not.toThrow();
    expect(messageOf(() => check(body, newer)).message).toContain(message);
  });

  test('a key as bearer token is accepted, and x-api-key comes first', () => {
    const bearer = { authorization: 'Bearer k' };
    expect(() => check({}, { ...newer, 'x-api-key': undefined, ...bearer })).not.toThrow();
    expect(vendor.authorized(bearer, 'k')).toBe(true);
    expect(vendor.authorized({ ...bearer, 'x-api-key': 'other' }, 'k')).toBe(false);
  });
});

describe('history', () => {
  test.each<[string, object, string]>([
    [
      'an assistant first',
      { messages: [{ role: 'assistant', content: 'x' }, hello] },
      'first message must use the "user" role',
    ],
    ['a system message', { messages: [{ role: 'system', content: 'x' }, hello] }, 'first message must use'],
    ['a system message later', { messages: [hello, { role: 'system', content: 'x' }] }, 'Unexpected role "system"'],
    ['an empty text', says(text('')), 'text content blocks must be non-empty'],
    ['a text of spaces', says(text('  ')), 'must contain non-whitespace text'],
    ['an empty system text', { system: [text('')] }, 'system: text content blocks must be non-empty'],
    [
      'an empty message',
      { messages: [{ role: 'user', content: [] }] },
      'messages.0: all messages must have non-empty content',
    ],
    ['a call by a user', says(use('a')), 'messages.0.content.0: `tool_use` blocks are not allowed in user messages'],
    [
      'a picture of the assistant',
      {
        messages: [
          hello,
          { role: 'assistant', content: [{ type: 'image', source: { type: 'url', url: 'https://a.example/b' } }] },
          hello,
        ],
      },
      '`image` blocks are not allowed in assistant messages',
    ],
    [
      'a call without a result',
      { messages: [hello, asks('a'), hello] },
      'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a.',
    ],
    ['one of two calls answered', { messages: [hello, asks('a', 'b'), answers('a')] }, 'immediately after: b.'],
    [
      'a result after text',
      { messages: [hello, asks('a'), { role: 'user', content: [text('so'), result('a')] }] },
      'immediately after: a.',
    ],
    [
      'a result of no call',
      { messages: [hello, asks('a'), answers('a', 'x')] },
      'messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: x.',
    ],
    ['a result at the beginning', { messages: [answers('x')] }, 'messages.0.content.0: unexpected `tool_use_id`'],
    [
      'two results of a call',
      { messages: [hello, asks('a'), answers('a', 'a')] },
      'Found multiple `tool_result` blocks with id: a',
    ],
    [
      'two calls of one id',
      { messages: [hello, asks('a'), answers('a'), asks('a'), answers('a')] },
      'messages.3.content.0: `tool_use` ids must be unique',
    ],
    [
      'a prefill',
      { messages: [hello, { role: 'assistant', content: 'I' }] },
      'does not support assistant message prefill',
    ],
    [
      'a prefill that ends in a space',
      { model: 'claude-sonnet-4-5', messages: [hello, { role: 'assistant', content: 'I ' }] },
      'cannot end with trailing whitespace',
    ],
  ])('%s', (_what, body, message) => {
    expect(messageOf(() => check(body)).message).toContain(message);
  });
});
