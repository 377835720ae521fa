import type { AiMessage, Content, ToolMessage } from '@caribou/contracts';
import { humanMessage } from '@caribou/testing';
import { isVisible, lastAnswer, withNote } from './answer.js';
import { createHiddenMessage } from './hidden-message.js';

describe(isVisible, () => {
  test.each<[string, Content]>([
    ['no text', ''],
    ['only space', ' \n\t'],
    ['an empty list', []],
    ['empty texts', ['', { type: 'text', text: ' ' }]],
    ['a thought', '<think>what to do?</think>\n'],
    ['a thought that was cut', '<think>what to d'],
    [
      'blocks of thoughts',
      [
        { type: 'thinking', thinking: 'hm' },
        { type: 'reasoning', text: 'hm' },
      ],
    ],
  ])('%s is nothing to see', (_what, content) => {
    expect(isVisible(content)).toBe(false);
  });

  test.each<[string, Content]>([
    ['a text', 'hello'],
    ['a text behind a thought', '<think>hm</think>hello'],
    ['a list of strings', ['', 'hello']],
    [
      'a text block behind thoughts',
      [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'hello' },
      ],
    ],
    ['an image', [{ type: 'image_url', image_url: { url: 'data:' } }]],
  ])('%s is', (_what, content) => {
    expect(isVisible(content)).toBe(true);
  });
});

describe(withNote, () => {
  test.each<[Content, Content]>([
    ['', 'note'],
    ['  ', 'note'],
    ['hello', 'hello\n\nnote'],
    [[], [{ type: 'text', text: 'note' }]],
    [['hello'], ['hello', { type: 'text', text: '\n\nnote' }]],
    [
      [{ type: 'thinking', thinking: 'hm' }],
      [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'note' },
      ],
    ],
  ])('%j becomes %j', (content, noted) => {
    expect(withNote(content, 'note')).toEqual(noted);
  });
});

describe(lastAnswer, () => {
  const common = { content: '', additional_kwargs: {}, response_metadata: {} };
  const answer: AiMessage = { type: 'ai', id: 'a', tool_calls: [], invalid_tool_calls: [], ...common };
  const result: ToolMessage = { type: 'tool', id: 't', name: 'x', tool_call_id: 'c', status: 'success', ...common };

  test('it is found before a message of a middleware', () => {
    expect(lastAnswer({ messages: [answer, createHiddenMessage('reminder', 'x')] })).toBe(answer);
  });

  test('an earlier answer, followed by results or a user message, is not taken for one that was removed', () => {
    expect(lastAnswer({ messages: [answer, result] })).toBeUndefined();
    expect(lastAnswer({ messages: [answer, humanMessage('more')] })).toBeUndefined();
    expect(lastAnswer({ messages: [] })).toBeUndefined();
  });
});
