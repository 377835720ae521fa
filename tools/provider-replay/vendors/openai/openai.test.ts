import {
  afterToolCall,
  at,
  type Body,
  callAt,
  converse,
  deltasOf,
  finishOf,
  joined,
  usageOf,
} from '../../testing/chat-conversation.js';
import { replaysOfTest } from '../../testing/replay-client.js';
import { openai } from './openai.js';

const start = replaysOfTest();
const chat = { model: 'gpt-4.1' };
const streamed = { ...chat, stream: true, stream_options: { include_usage: true } };

describe('openai', () => {
  test('a conversation with a tool is accepted', async () => {
    const talk = await afterToolCall(await start({ vendor: openai }), { ...chat, max_tokens: 100 });

    expect(await talk.advance()).toMatchObject({ role: 'assistant', content: 'done here', refusal: null });
  });

  test('a stream has a first chunk with the role, calls in pieces, and usage in a chunk without choices', async () => {
    const replay = await start({ vendor: openai });
    const answered = await converse(
      replay,
      streamed,
      '#usage 9 5',
      '#think secret',
      '#say hi you',
      '#+tool bash {"command":"ls -la"}',
    ).send();
    const deltas = deltasOf(answered);

    expect(deltas[0]).toEqual({ role: 'assistant', content: '', refusal: null });
    expect(joined(answered, 'content')).toBe('hi you');
    expect(deltas.find((delta) => 'tool_calls' in delta)).toMatchObject({
      tool_calls: [{ index: 0, type: 'function', function: { name: 'bash', arguments: '' } }],
    });
    expect(finishOf(answered)).toBe('tool_calls');
    expect(answered.text).not.toContain('secret');
    expect(answered.events.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 },
    });
    expect(usageOf(answered)).toMatchObject({ completion_tokens_details: { reasoning_tokens: 1 } });
  });

  test.each<[string, Record<string, unknown>, (body: Body) => void, [RegExp, string | null]]>([
    [
      'an unknown field',
      chat,
      (body) => void (body['thinking'] = {}),
      [/Unrecognized request argument supplied: thinking/, null],
    ],
    [
      'an unknown field of a message',
      chat,
      (body) => void (at(body, 1)['reasoning_content'] = ''),
      [/Unknown parameter: 'messages\[1\]\.reasoning_content'/, 'unknown_parameter'],
    ],
    [
      'an unknown field of a call',
      chat,
      (body) => void (callAt(body, 1)['extra_content'] = {}),
      [/Unknown parameter: 'messages\[1\]\.tool_calls\[0\]\.extra_content'/, 'unknown_parameter'],
    ],
    [
      'a call id of 41 characters',
      chat,
      (body) => void (callAt(body, 1).id = 'x'.repeat(41)),
      [/maximum length 40, but got a string with length 41/, 'string_above_max_length'],
    ],
    [
      'a function name with a dot',
      chat,
      (body) => void (callAt(body, 1).function['name'] = 'a.b'),
      [/'messages\[1\]\.tool_calls\[0\]\.function\.name': string does not match pattern/, 'invalid_value'],
    ],
    [
      'a name with a space',
      chat,
      (body) => void (at(body, 0)['name'] = 'Jo Doe'),
      [/'messages\[0\]\.name': string does not match pattern/, 'invalid_value'],
    ],
    ['a missing tool result', chat, (body) => void body.messages.pop(), [/must be followed by tool messages/, null]],
    [
      'a user message before the result',
      chat,
      (body) => void body.messages.splice(2, 0, { role: 'user', content: 'x' }),
      [/must be followed by tool messages/, null],
    ],
    [
      'a result without a call',
      chat,
      (body) => void (at(body, 2)['tool_call_id'] = 'call_other'),
      [/must be a response to a preceeding message/, null],
    ],
    [
      'an assistant message without content',
      chat,
      (body) => void body.messages.push({ role: 'assistant', content: null }),
      [/expected a string, got null/, null],
    ],
    [
      'a content that is null',
      chat,
      (body) => void (at(body, 0)['content'] = null),
      [/Invalid type for 'messages\[0\]\.content'/, 'invalid_type'],
    ],
    [
      'stream_options without stream',
      chat,
      (body) => void (body['stream_options'] = { include_usage: true }),
      [/only allowed when 'stream' is enabled/, null],
    ],
    [
      'tool_choice without tools',
      chat,
      (body) => void Object.assign(body, { tools: undefined, tool_choice: 'auto' }),
      [/only allowed when 'tools' are specified/, null],
    ],
    ['no tools in a list', chat, (body) => void (body['tools'] = []), [/array too short/, 'array_below_min_length']],
    [
      'a temperature above 2',
      chat,
      (body) => void (body['temperature'] = 3),
      [/Expected a value <= 2/, 'decimal_above_max_value'],
    ],
    [
      'max_tokens of a reasoning model',
      { model: 'gpt-5.2' },
      (body) => void (body['max_tokens'] = 9),
      [/Use 'max_completion_tokens' instead/, 'unsupported_parameter'],
    ],
    [
      'temperature of a reasoning model',
      { model: 'o4-mini' },
      (body) => void (body['temperature'] = 0.2),
      [/Only the default \(1\) value/, 'unsupported_value'],
    ],
    [
      'stop of a reasoning model',
      { model: 'gpt-5' },
      (body) => void (body['stop'] = 'x'),
      [/'stop' is not supported with this model/, 'unsupported_parameter'],
    ],
    [
      'both limits',
      chat,
      (body) => void Object.assign(body, { max_tokens: 1, max_completion_tokens: 1 }),
      [/at the same time/, 'invalid_parameter_combination'],
    ],
  ])('%s is refused', async (_case, base, breakIt, [message, code]) => {
    const replay = await start({ vendor: openai });
    const talk = await afterToolCall(replay, base);
    const body = talk.body();
    breakIt(body);

    expect(await talk.send(body)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(message), type: 'invalid_request_error', code } },
    });
    expect(replay.refusals()).toHaveLength(1);
    expect((await talk.send()).status).toBe(200);
  });

  test('models that reason as far as they are asked to take the options of sampling without it', async () => {
    const replay = await start({ vendor: openai });
    const ask = async (more: object) => (await converse(replay, { ...more }, '#say x').send()).status;

    expect(await ask({ model: 'gpt-5.2', temperature: 0.2 })).toBe(200);
    expect(await ask({ model: 'gpt-5.2', temperature: 0.2, reasoning_effort: 'low' })).toBe(400);
    expect(await ask({ model: 'gpt-5.2', logprobs: true, reasoning_effort: 'low' })).toBe(400);
    expect(await ask({ model: 'gpt-5', presence_penalty: 0 })).toBe(200);
    expect(await ask({ model: 'gpt-5-chat-latest', temperature: 0.2, max_tokens: 5 })).toBe(200);
  });

  test('a refusal and a content filter end the answer in its own words', async () => {
    const replay = await start({ vendor: openai });
    const refused = await converse(replay, streamed, '#fault refusal').send();
    const filtered = await converse(replay, streamed, '#say begun', '#+fault content-filter').send();

    expect([joined(refused, 'refusal'), finishOf(refused)]).toEqual([
      "I'm sorry, but I can't assist with that.",
      'stop',
    ]);
    expect([joined(filtered, 'content'), finishOf(filtered)]).toEqual(['begun', 'content_filter']);
  });

  test('arguments cut by the token limit, an answer of thinking alone, and an empty one', async () => {
    const replay = await start({ vendor: openai });
    const cut = await converse(replay, streamed, '#badargs bash {"command":"ec', '#+length').send();
    const silent = await converse(replay, streamed, '#think only', '#say').send();

    expect(finishOf(cut)).toBe('length');
    expect([joined(silent, 'content'), finishOf(silent)]).toEqual(['', 'stop']);
  });
});
