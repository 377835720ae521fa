import { afterToolCall, at, type Body, callAt, converse, deltasOf, finishOf } from '../../testing/chat-conversation.js';
import { replaysOfTest } from '../../testing/replay-client.js';
import { vllm } from './vllm.js';

const start = replaysOfTest();
const qwen = { model: 'Qwen/Qwen3.5-27B' };

describe('vllm', () => {
  test('a conversation is accepted, and reads reasoning from one field only', async () => {
    const replay = await start({ vendor: vllm });
    const talk = await afterToolCall(replay, qwen);
    expect(at(talk.body(), 1)['reasoning']).toBe('let me look');
    await talk.send();
    expect(replay.ignored()).toEqual([]);

    const renamed = talk.body();
    at(renamed, 1)['reasoning_content'] = at(renamed, 1)['reasoning'];
    delete at(renamed, 1)['reasoning'];
    await talk.send(renamed);
    expect(replay.ignored()).toMatchObject([{ field: 'messages[1].reasoning_content' }]);
  });

  test('a stream has reasoning deltas, and the counts in a chunk of their own', async () => {
    const body = { ...qwen, stream: true, stream_options: { include_usage: true } };
    const answered = await converse(
      await start({ vendor: vllm }),
      body,
      '#think so',
      '#say hi',
      '#+tool bash {}',
    ).send();

    expect(deltasOf(answered).slice(0, 3)).toEqual([
      { role: 'assistant', content: '' },
      { reasoning: 'so' },
      { content: 'hi' },
    ]);
    expect(finishOf(answered)).toBe('tool_calls');
    expect(answered.events.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: expect.any(Number) } });
  });

  test.each<[string, (body: Body) => void, RegExp]>([
    [
      'a system message that is not first',
      (body) => void body.messages.push({ role: 'system', content: 'x' }),
      /System message must be at the beginning\./,
    ],
    [
      'a role of OpenAI',
      (body) => void body.messages.unshift({ role: 'developer', content: 'x' }),
      /Unexpected message role\./,
    ],
    ['no user message', (body) => void body.messages.shift(), /No user query found in messages\./],
    [
      'arguments that are no JSON',
      (body) => void (callAt(body, 1).function['arguments'] = '{'),
      /Invalid JSON in the arguments/,
    ],
    ['no tools in a list', (body) => void (body['tools'] = []), /`tools` must not be an empty array/],
    [
      'tool_choice without tools',
      (body) => void Object.assign(body, { tools: undefined, tool_choice: 'auto' }),
      /`tools` must be set/,
    ],
    [
      'the choice of a tool that is not there',
      (body) => void (body['tool_choice'] = { type: 'function', function: { name: 'x' } }),
      /does not match any of the specified/,
    ],
    [
      'stream_options without stream',
      (body) => void (body['stream_options'] = { include_usage: true }),
      /can only be defined when `stream=True`/,
    ],
    ['a temperature below 0', (body) => void (body['temperature'] = -1), /'temperature'/],
  ])('%s is refused', async (_case, breakIt, message) => {
    const talk = await afterToolCall(await start({ vendor: vllm }), qwen);
    const body = talk.body();
    breakIt(body);

    expect(await talk.send(body)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(message), type: 'BadRequestError', code: 400 } },
    });
  });

  test('reasoning can be left out of the answer', async () => {
    const answered = await converse(
      await start({ vendor: vllm }),
      { ...qwen, stream: true, include_reasoning: false },
      '#think so',
      '#say hi',
    ).send();

    expect(answered.text).not.toContain('reasoning');
  });
});
