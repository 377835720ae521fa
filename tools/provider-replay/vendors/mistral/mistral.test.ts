import {
  afterToolCall,
  at,
  type Body,
  callAt,
  converse,
  choicesOf,
  deltasOf,
} from '../../testing/chat-conversation.js';
import { replaysOfTest } from '../../testing/replay-client.js';
import { mistral } from './mistral.js';

const start = replaysOfTest();
const large = { model: 'mistral-large-latest' };
const magistral = { model: 'magistral-medium-latest' };

describe('mistral', () => {
  test('a conversation is accepted, with its thinking as a list of content', async () => {
    const talk = await afterToolCall(await start({ vendor: mistral }), magistral);

    expect(at(talk.body(), 1)['content']).toEqual([
      { type: 'thinking', thinking: [{ type: 'text', text: 'let me look' }] },
    ]);
    expect(callAt(talk.body(), 1).id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(await talk.advance()).toMatchObject({ content: 'done here' });
  });

  test('in a stream calls come whole in the last chunk, with reason and usage; thinking is in lists', async () => {
    const body = { ...magistral, stream: true };
    const lines = [
      '#usage 9 4',
      '#think so',
      '#say hi',
      '#+tool bash {"command":"ls -la and more than eight"}',
      '#+tool bash {}',
    ];
    const answered = await converse(await start({ vendor: mistral }), body, ...lines).send();

    expect(deltasOf(answered).slice(0, 3)).toEqual([
      { role: 'assistant', content: '' },
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'so' }] }] },
      { content: 'hi' },
    ]);
    expect(choicesOf(answered).at(-1)).toMatchObject({
      finish_reason: 'tool_calls',
      delta: {
        tool_calls: [{ index: 0, function: { arguments: '{"command":"ls -la and more than eight"}' } }, { index: 1 }],
      },
    });
    expect(answered.events.at(-1)).toMatchObject({
      usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 },
    });
  });

  test('models that do not reason show no thinking', async () => {
    const replay = await start({ vendor: mistral });

    expect((await converse(replay, large, '#think so', '#say hi').send()).text).not.toContain('thinking');
    expect(
      (await converse(replay, { ...large, reasoning_effort: 'high' }, '#think so', '#say hi').send()).text,
    ).toContain('thinking');
  });

  test.each<[string, (body: Body) => void, unknown]>([
    [
      'an unknown field',
      (body) => void (body['max_completion_tokens'] = 9),
      {
        type: 'extra_forbidden',
        loc: ['body', 'max_completion_tokens'],
        msg: 'Extra inputs are not permitted',
        input: 9,
      },
    ],
    [
      'stream_options',
      (body) => void (body['stream_options'] = { include_usage: true }),
      { type: 'extra_forbidden', loc: ['body', 'stream_options'] },
    ],
    [
      'a name of a user',
      (body) => void (at(body, 0)['name'] = 'jo'),
      { type: 'extra_forbidden', loc: ['body', 'messages', 0, 'user', 'name'], input: 'jo' },
    ],
    [
      'reasoning_content',
      (body) => void (at(body, 1)['reasoning_content'] = ''),
      { type: 'extra_forbidden', loc: ['body', 'messages', 1, 'assistant', 'reasoning_content'] },
    ],
    [
      'no model',
      (body) => void delete body['model'],
      { type: 'missing', loc: ['body', 'model'], msg: 'Field required' },
    ],
    [
      'a tool without parameters',
      (body) => void (body['tools'] = [{ type: 'function', function: { name: 'x' } }]),
      { type: 'missing' },
    ],
  ])('%s is refused with 422', async (_case, breakIt, detail) => {
    const talk = await afterToolCall(await start({ vendor: mistral }), large);
    const body = talk.body();
    breakIt(body);

    expect(await talk.send(body)).toMatchObject({
      status: 422,
      body: { object: 'error', type: 'invalid_request_error', message: { detail: [detail] } },
    });
  });

  test.each<[string, (body: Body) => void, RegExp, string]>([
    [
      'a call id of another form',
      (body) => void (callAt(body, 1).id = at(body, 2)['tool_call_id'] = 'call_123456'),
      /Tool call id was call_123456 but must be a-z, A-Z, 0-9, with a length of 9\./,
      'invalid_function_call',
    ],
    [
      'a user message after a tool message',
      (body) => void body.messages.push({ role: 'user', content: 'x' }),
      /Unexpected role 'user' after role 'tool'/,
      'invalid_request_message_order',
    ],
    [
      'a system message after an assistant one',
      (body) => void body.messages.splice(2, 0, { role: 'system', content: 'x' }),
      /Unexpected role 'system' after role 'assistant'/,
      'invalid_request_message_order',
    ],
    [
      'a last message of the assistant',
      (body) => void body.messages.push({ role: 'assistant', content: 'x' }),
      /Expected last role User or Tool/,
      'invalid_request_message_order',
    ],
    [
      'a missing result',
      (body) => void body.messages.splice(2, 1, { role: 'user', content: 'x' }),
      /Not the same number of function calls and responses/,
      'invalid_request_message_order',
    ],
    [
      'a result without a call',
      (body) => void (at(body, 2)['tool_call_id'] = 'abcdefghi'),
      /Unexpected tool call id abcdefghi in tool results/,
      'invalid_request_message_order',
    ],
    [
      'a result twice',
      (body) => void body.messages.push(at(body, 2)),
      /Duplicate tool call id \w{9} in tool results/,
      'invalid_request_message_order',
    ],
    [
      'calls of one id',
      (body) => void (at(body, 1)['tool_calls'] = [callAt(body, 1), callAt(body, 1)]),
      /in assistant message/,
      'invalid_request_message_order',
    ],
    [
      'an empty assistant message',
      (body) => void body.messages.splice(1, 2, { role: 'assistant', content: '' }, { role: 'user', content: 'x' }),
      /must have either content or tool_calls/,
      'invalid_request_assistant_message',
    ],
    [
      'a function name with a dot',
      (body) => void (callAt(body, 1).function['name'] = 'a.b'),
      /Function name was a.b but must be/,
      'invalid_function_call',
    ],
    [
      'a conversation of one tool message',
      (body) => void (body.messages = [at(body, 2)]),
      /must start with a user message or system message/,
      'invalid_request_message_order',
    ],
    ['no messages', (body) => void (body.messages = []), /at least one message/, 'invalid_request_message_order'],
  ])('%s is refused with 400', async (_case, breakIt, message, type) => {
    const talk = await afterToolCall(await start({ vendor: mistral }), large);
    const body = talk.body();
    breakIt(body);

    expect(await talk.send(body)).toMatchObject({
      status: 400,
      body: { object: 'error', message: expect.stringMatching(message), type, param: null },
    });
  });
});
