import { afterToolCall, at, type Body, callAt, converse, deltasOf, finishOf } from '../../testing/chat-conversation.js';
import { replaysOfTest } from '../../testing/replay-client.js';
import { ollama } from './ollama.js';

const start = replaysOfTest();
const qwen = { model: 'qwen3.5:27b' };

describe('ollama', () => {
  test('a conversation is accepted without loss', async () => {
    const replay = await start({ vendor: ollama });
    const talk = await afterToolCall(replay, qwen);

    expect(at(talk.body(), 1)['reasoning']).toBe('let me look');
    expect(await talk.advance()).toMatchObject({ content: 'done here' });
    expect(replay.ignored()).toEqual([]);
  });

  test('each delta has the role; calls come whole, all in one chunk', async () => {
    const answered = await converse(
      await start({ vendor: ollama }),
      { ...qwen, stream: true },
      '#think so',
      '#say hi',
      '#+tool bash {"a":1}',
      '#+tool bash {}',
    ).send();

    expect(deltasOf(answered)).toEqual([
      { role: 'assistant', content: '', reasoning: 'so' },
      { role: 'assistant', content: 'hi' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id: expect.any(String), index: 0, type: 'function', function: { name: 'bash', arguments: '{"a":1}' } },
          { id: expect.any(String), index: 1, type: 'function', function: { name: 'bash', arguments: '{}' } },
        ],
      },
      { role: 'assistant', content: '' },
    ]);
    expect(finishOf(answered)).toBe('tool_calls');
  });

  test.each<[string, (body: Body) => void, RegExp]>([
    [
      'a reasoning effort that is none of its own',
      (body) => void (body['reasoning_effort'] = 'minimal'),
      /invalid reasoning value: 'minimal'/,
    ],
    [
      'arguments that are no JSON',
      (body) => void (callAt(body, 1).function['arguments'] = '{'),
      /invalid tool call arguments/,
    ],
    [
      'a message without content and calls',
      (body) => void (at(body, 0)['content'] = null),
      /invalid message content type: <nil>/,
    ],
    [
      'an image by its URL',
      (body) => void (at(body, 0)['content'] = [{ type: 'image_url', image_url: { url: 'https://x/y.png' } }]),
      /invalid image input/,
    ],
    ['a part of another kind', (body) => void (at(body, 0)['content'] = [{ type: 'file' }]), /invalid message format/],
    ['no messages', (body) => void (body.messages = []), /too short - 'messages'/],
  ])('%s is refused', async (_case, breakIt, message) => {
    const talk = await afterToolCall(await start({ vendor: ollama }), qwen);
    const body = talk.body();
    breakIt(body);

    expect(await talk.send(body)).toMatchObject({
      status: 400,
      body: {
        error: { message: expect.stringMatching(message), type: 'invalid_request_error', param: null, code: null },
      },
    });
  });

  test('fields that ollama does not read are listed', async () => {
    const replay = await start({ vendor: ollama });
    const talk = await afterToolCall(replay, qwen);
    const body = talk.body();
    Object.assign(body, { max_completion_tokens: 9, tool_choice: 'auto' });
    at(body, 1)['reasoning_content'] = 'let me look';
    await talk.send(body);

    expect(replay.ignored().map(({ field }) => field)).toEqual([
      'max_completion_tokens',
      'tool_choice',
      'messages[1].reasoning_content',
    ]);
  });

  test('thinking can be turned off', async () => {
    const answered = await converse(
      await start({ vendor: ollama }),
      { ...qwen, stream: true, reasoning_effort: 'none' },
      '#think so',
      '#say hi',
    ).send();

    expect(answered.text).not.toContain('reasoning');
  });
});
