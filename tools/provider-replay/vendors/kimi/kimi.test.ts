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
import { kimi } from './kimi.js';

const start = replaysOfTest();
const k26 = { model: 'kimi-k2.6' };
const missing = /thinking is enabled but reasoning_content is missing in assistant tool call message at index 1/;

describe('kimi', () => {
  test('a conversation whose reasoning comes back is accepted', async () => {
    const talk = await afterToolCall(await start({ vendor: kimi }), {
      ...k26,
      temperature: 1,
      max_completion_tokens: 50,
    });

    expect(await talk.advance()).toMatchObject({ content: 'done here' });
  });

  test('a stream has reasoning_content, and usage in its last choice and in a chunk of its own', async () => {
    const body = { ...k26, stream: true, stream_options: { include_usage: true } };
    const answered = await converse(await start({ vendor: kimi }), body, '#usage 9 3', '#think so', '#say hi').send();
    const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };

    expect(deltasOf(answered).slice(0, 3)).toEqual([
      { role: 'assistant', content: '' },
      { reasoning_content: 'so' },
      { content: 'hi' },
    ]);
    expect(choicesOf(answered).at(-1)).toMatchObject({ finish_reason: 'stop', usage });
    expect(answered.events.at(-1)).toMatchObject({ choices: [], usage });
  });

  test.each<[string, (body: Body) => void, RegExp]>([
    ['no reasoning', (body) => void delete at(body, 1)['reasoning_content'], missing],
    ['another reasoning', (body) => void (at(body, 1)['reasoning_content'] = 'other'), missing],
    [
      'another temperature',
      (body) => void (body['temperature'] = 0.7),
      /invalid temperature: only 1 is allowed for this model/,
    ],
    ['another top_p', (body) => void (body['top_p'] = 0.5), /invalid top_p: only 0.95 is allowed/],
    [
      'a forced tool',
      (body) => void (body['tool_choice'] = 'required'),
      /tool_choice 'required' is incompatible with thinking enabled/,
    ],
    [
      'a named tool',
      (body) => void (body['tool_choice'] = { type: 'function', function: { name: 'bash' } }),
      /tool_choice specified is incompatible/,
    ],
    [
      'an empty message',
      (body) => void (at(body, 0)['content'] = ''),
      /the message at position 0 with role 'user' must not be empty/,
    ],
    ['a role of OpenAI', (body) => void (at(body, 0)['role'] = 'developer'), /Invalid request: messages\[0\]/],
    [
      'a function name that begins with a digit',
      (body) => void (callAt(body, 1).function['name'] = '1x'),
      /function name is invalid, must start with a letter/,
    ],
    ['a missing result', (body) => void body.messages.pop(), /did not have response messages/],
    ['a result without a call', (body) => void (at(body, 2)['tool_call_id'] = 'other'), /tool_call_id {2}is not found/],
    ['partial before the end', (body) => void (at(body, 1)['partial'] = true), /partial is only allowed in the last/],
    [
      'partial with JSON mode',
      (body) =>
        void (body.messages.push({ role: 'assistant', content: 'x', partial: true }),
        (body['response_format'] = { type: 'json_object' })),
      /partial mode cannot be used/,
    ],
    ['six stop words', (body) => void (body['stop'] = ['1', '2', '3', '4', '5', '6']), /stop is invalid/],
  ])('%s is refused', async (_case, breakIt, message) => {
    const talk = await afterToolCall(await start({ vendor: kimi }), k26);
    const body = talk.body();
    breakIt(body);

    expect(await talk.send(body)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(message), type: 'invalid_request_error' } },
    });
  });

  test('thinking can be turned off where the model allows it', async () => {
    const replay = await start({ vendor: kimi });
    const off = { thinking: { type: 'disabled' } };
    const always = await converse(replay, { model: 'kimi-k3', ...off }, '#say x').send();
    const talk = await afterToolCall(replay, { ...k26, ...off, temperature: 0.6 });
    const body = talk.body();

    expect(at(body, 1)).not.toHaveProperty('reasoning_content');
    expect((await talk.send(body)).status).toBe(200);
    expect(always.body).toMatchObject({
      error: { message: 'invalid thinking: only type=enabled is allowed for this model' },
    });
  });

  test('fields that Kimi does not read are listed', async () => {
    const replay = await start({ vendor: kimi });
    await converse(replay, { ...k26, parallel_tool_calls: true }, '#say x').send();

    expect(replay.ignored()).toEqual([{ id: 1, field: 'parallel_tool_calls' }]);
  });
});
