import {
  afterToolCall,
  at,
  type Body,
  callAt,
  converse,
  deltasOf,
  finishOf,
  joined,
} from '../../testing/chat-conversation.js';
import { replaysOfTest } from '../../testing/replay-client.js';
import { deepseek } from './deepseek.js';

const start = replaysOfTest();
const pro = { model: 'deepseek-v4-pro' };
const streamed = { ...pro, stream: true, stream_options: { include_usage: true } };
const mustReturn = /The `reasoning_content` in the thinking mode must be passed back to the API\./;

describe('deepseek', () => {
  test('a conversation whose reasoning comes back is accepted, and so is the next turn', async () => {
    const talk = await afterToolCall(await start({ vendor: deepseek }), pro);
    expect(await talk.advance()).toMatchObject({ content: 'done here', reasoning_content: '' });
    talk.say('#say again');

    expect(await talk.advance()).toMatchObject({ content: 'again' });
  });

  test('a stream has comments, null for the field that is not there, and counts of the cache', async () => {
    const answered = await converse(
      await start({ vendor: deepseek }),
      streamed,
      '#usage 9 3',
      '#think so',
      '#say hi',
    ).send();

    expect(answered.text).toMatch(/^: keep-alive\n\n/);
    expect(deltasOf(answered).slice(0, 3)).toEqual([
      { role: 'assistant', content: null, reasoning_content: '' },
      { content: null, reasoning_content: 'so' },
      { content: 'hi', reasoning_content: null },
    ]);
    expect(answered.events.at(-1)).toMatchObject({
      choices: [],
      usage: {
        prompt_cache_hit_tokens: 0,
        prompt_cache_miss_tokens: 9,
        completion_tokens_details: { reasoning_tokens: 1 },
      },
    });
  });

  test.each<[string, (body: Body) => void, RegExp]>([
    ['no reasoning', (body) => void delete at(body, 1)['reasoning_content'], mustReturn],
    ['a reasoning of null', (body) => void (at(body, 1)['reasoning_content'] = null), mustReturn],
    ['another reasoning', (body) => void (at(body, 1)['reasoning_content'] = 'let me'), mustReturn],
    [
      'no reasoning of an earlier turn with a tool',
      (body) => void (body.messages.push({ role: 'user', content: 'x' }), delete at(body, 1)['reasoning_content']),
      mustReturn,
    ],
    [
      'no reasoning of the answer after a tool',
      (body) => void body.messages.push({ role: 'assistant', content: 'ok' }, { role: 'user', content: 'x' }),
      mustReturn,
    ],
    [
      'a role of OpenAI',
      (body) => void (at(body, 0)['role'] = 'developer'),
      /Failed to deserialize the JSON body into the target type: messages\[0\]/,
    ],
    [
      'an image',
      (body) => void (at(body, 0)['content'] = [{ type: 'image_url', image_url: { url: 'https://x' } }]),
      /Failed to deserialize/,
    ],
    ['a JSON schema', (body) => void (body['response_format'] = { type: 'json_schema' }), /Failed to deserialize/],
    ['a missing result', (body) => void body.messages.pop(), /insufficient tool messages/],
    [
      'a result without a call',
      (body) => void (at(body, 2)['tool_call_id'] = 'other'),
      /preceding message with 'tool_calls'/,
    ],
    [
      'two calls of one id',
      (body) => void (at(body, 1)['tool_calls'] = [callAt(body, 1), callAt(body, 1)]),
      /Duplicate/,
    ],
    [
      'an empty assistant message',
      (body) => void body.messages.push({ role: 'assistant' }),
      /content or tool_calls must be set/,
    ],
    ['stream_options without stream', (body) => void (body['stream_options'] = {}), /stream = true/],
  ])('%s is refused', async (_case, breakIt, message) => {
    const talk = await afterToolCall(await start({ vendor: deepseek }), pro);
    const body = talk.body();
    breakIt(body);

    expect(await talk.send(body)).toMatchObject({
      status: 400,
      body: {
        error: {
          message: expect.stringMatching(message),
          type: 'invalid_request_error',
          code: 'invalid_request_error',
        },
      },
    });
  });

  test('an empty reasoning is enough where the model had none, and none is needed without tools or thinking', async () => {
    const replay = await start({ vendor: deepseek });
    const talk = await afterToolCall(replay, pro, '#tool bash {"command":"ls"}', '#say ok');
    const emptied = talk.body();
    at(emptied, 1)['reasoning_content'] = '';
    const missing = talk.body();
    delete at(missing, 1)['reasoning_content'];
    const notThinking = { ...missing, thinking: { type: 'disabled' } };

    expect([
      (await talk.send(emptied)).status,
      (await talk.send(missing)).status,
      (await talk.send(notThinking)).status,
    ]).toEqual([200, 400, 200]);
    const plain = converse(replay, pro, '#think x', '#say y');
    await plain.advance();
    plain.say('#say z');
    const dropped = plain.body();
    delete at(dropped, 1)['reasoning_content'];
    expect((await plain.send(dropped)).status).toBe(200);
  });

  test('without thinking no reasoning is shown', async () => {
    const answered = await converse(
      await start({ vendor: deepseek }),
      { ...streamed, thinking: { type: 'disabled' } },
      '#think so',
      '#say hi',
    ).send();

    expect([answered.text.includes('reasoning_content'), joined(answered, 'content')]).toEqual([false, 'hi']);
  });

  test('a value outside its range is a 422, no credit a 402, and an overload in the stream a finish reason', async () => {
    const replay = await start({ vendor: deepseek });
    const hot = await converse(replay, { ...pro, temperature: 3 }, '#say x').send();
    const poor = await converse(replay, pro, '#fault quota').send();
    const busy = await converse(replay, streamed, '#say begun', '#+fault overload').send();

    expect([hot.status, poor.status, poor.body]).toMatchObject([
      422,
      402,
      { error: { message: 'Insufficient Balance' } },
    ]);
    expect([joined(busy, 'content'), finishOf(busy)]).toEqual(['begun', 'insufficient_system_resource']);
  });
});
