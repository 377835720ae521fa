import {
  afterToolCall,
  at,
  type Body,
  callAt,
  converse,
  deltasOf,
  joined,
  usageOf,
} from '../../testing/chat-conversation.js';
import { replaysOfTest } from '../../testing/replay-client.js';
import { minimax } from './minimax.js';

const start = replaysOfTest();
const inline = { model: 'MiniMax-M2.7' };
const split = { ...inline, reasoning_split: true };

describe('minimax', () => {
  test.each([
    ['inline', inline],
    ['split off', split],
  ])('a conversation whose thinking, %s, comes back whole is accepted', async (_case, base) => {
    const talk = await afterToolCall(await start({ vendor: minimax }), base);

    expect(await talk.advance()).toMatchObject({ content: 'done here' });
  });

  test('thinking is inside the content', async () => {
    const body = { ...inline, stream: true };
    const answered = await converse(
      await start({ vendor: minimax }),
      body,
      '#usage 9 3',
      '#think so it is',
      '#say hi',
    ).send();

    expect(joined(answered, 'content')).toBe('<think>\nso it is\n</think>\n\nhi');
    expect(usageOf(answered)).toMatchObject({
      prompt_tokens: 9,
      completion_tokens: 3,
      completion_tokens_details: { reasoning_tokens: 3 },
    });
    expect(answered.events.at(-1)).toMatchObject({ choices: [], base_resp: { status_code: 0 } });
  });

  test('the tag is closed before a call, and after an answer of thinking alone', async () => {
    const replay = await start({ vendor: minimax });
    const body = { ...inline, stream: true };
    const call = await converse(replay, body, '#think so', '#tool bash {}').send();
    const alone = await converse(replay, body, '#think so', '#say').send();

    expect([joined(call, 'content'), joined(alone, 'content')]).toEqual([
      '<think>\nso\n</think>\n\n',
      '<think>\nso\n</think>\n\n',
    ]);
  });

  test('with reasoning_split the thinking is in two fields, which are the same text', async () => {
    const answered = await converse(
      await start({ vendor: minimax }),
      { ...split, stream: true },
      '#think so',
      '#say hi',
    ).send();

    expect(joined(answered, 'content')).toBe('hi');
    expect(deltasOf(answered)[1]).toEqual({
      role: 'assistant',
      reasoning_content: 'so',
      reasoning_details: [
        { type: 'reasoning.text', id: 'reasoning-text-1', format: 'MiniMax-response-v1', index: 0, text: 'so' },
      ],
    });
  });

  test.each<[string, object, (body: Body) => void, RegExp]>([
    [
      'users of several names',
      inline,
      (body) => void body.messages.splice(1, 0, { role: 'user', name: 'reminder', content: 'x' }),
      /user name must be consistent \(2013\)/,
    ],
    [
      'a second system message',
      inline,
      (body) => void body.messages.unshift({ role: 'system', content: 'a' }, { role: 'system', content: 'b' }),
      /invalid chat setting \(2013\)/,
    ],
    [
      'a system message that is not first',
      inline,
      (body) => void body.messages.push({ role: 'system', content: 'b' }),
      /invalid message role: system \(2013\)/,
    ],
    [
      'a role of OpenAI',
      inline,
      (body) => void body.messages.unshift({ role: 'developer', content: 'b' }),
      /invalid message role: developer \(2013\)/,
    ],
    [
      'arguments that are no JSON',
      inline,
      (body) => void (callAt(body, 1).function['arguments'] = '{'),
      /invalid function arguments json string, tool_call_id: \S+ \(2013\)/,
    ],
    [
      'a content without its thinking',
      inline,
      (body) => void (at(body, 1)['content'] = ''),
      /must be preserved completely \(2013\)/,
    ],
    [
      'a thinking in another form',
      inline,
      (body) => void Object.assign(at(body, 1), { content: '', reasoning_content: 'let me look' }),
      /must be preserved completely/,
    ],
    [
      'a message without its details',
      split,
      (body) => void delete at(body, 1)['reasoning_details'],
      /must be preserved completely/,
    ],
    [
      'details that were changed',
      split,
      (body) => void (at(body, 1)['reasoning_details'] = [{ type: 'reasoning.text', text: 'let me' }]),
      /must be preserved completely/,
    ],
    ['a missing result', inline, (body) => void body.messages.pop(), /tool call and result not match/],
    [
      'a result without a call',
      inline,
      (body) => void (at(body, 2)['tool_call_id'] = 'x'),
      /tool result does not follow tool call/,
    ],
    ['a temperature of 0', inline, (body) => void (body['temperature'] = 0), /temperature/],
    ['a forced tool', inline, (body) => void (body['tool_choice'] = 'required'), /tool_choice/],
  ])('%s is refused', async (_case, base, breakIt, message) => {
    const talk = await afterToolCall(await start({ vendor: minimax }), { ...base });
    const body = talk.body();
    breakIt(body);

    expect(await talk.send(body)).toMatchObject({
      status: 400,
      body: {
        type: 'error',
        error: { type: 'bad_request_error', message: expect.stringMatching(message), http_code: '400' },
      },
    });
  });

  test('one name for all users is accepted, and calls of other servers need no thinking', async () => {
    const replay = await start({ vendor: minimax });
    const talk = await afterToolCall(replay, inline);
    const named = talk.body();
    at(named, 0)['name'] = 'jo';
    const foreign = talk.body();
    callAt(foreign, 1).id = at(foreign, 2)['tool_call_id'] = 'call_of_another';
    at(foreign, 1)['content'] = null;

    expect([(await talk.send(named)).status, (await talk.send(foreign)).status]).toEqual([200, 200]);
  });

  test('a failure in the stream is a chunk without choices', async () => {
    const answered = await converse(
      await start({ vendor: minimax }),
      { ...inline, stream: true },
      '#say begun',
      '#+fault overload',
    ).send();

    expect(answered.events.at(-1)).toMatchObject({ choices: null, base_resp: { status_code: 1001 } });
  });

  test('parameters that MiniMax ignores are listed', async () => {
    const replay = await start({ vendor: minimax });
    await converse(replay, { ...inline, presence_penalty: 1 }, '#say x').send();

    expect(replay.ignored()).toEqual([{ id: 1, field: 'presence_penalty' }]);
  });
});
