import type { Message } from '@caribou/contracts';
import { type AnyTool, type Deferral, defineTool } from '@caribou/core';
import { humanMessage } from '@caribou/testing';
import { z } from 'zod';
import { latestUserText, matchToolsByKeywords } from './routed-tools.js';

const tool = (name: string, deferred: Deferral): AnyTool =>
  defineTool({ name, description: '', input: z.object({}), deferred, run: () => Promise.resolve({ content: '' }) });
const human = (content: Message['content'], over: Partial<Message> = {}): Message => ({
  ...humanMessage('', 'h'),
  content,
  ...over,
  type: 'human',
});

describe(latestUserText, () => {
  test.each<[string, Message]>([
    ['text', human('the words')],
    ['blocks', human([{ type: 'text', text: 'the ' }, { type: 'image_url' }, { type: 'text', text: 'words' }])],
    ['strings', human(['the ', 'words'])],
    ['words below a block of ours', human('<x/> ours', { additional_kwargs: { original_user_content: 'the words' } })],
    [
      'a hidden answer to a question',
      human('the words', { additional_kwargs: { hide_from_ui: true, human_input_response: {} } }),
    ],
  ])('%s', (_what, message) => {
    const ours = [
      human('a reminder', { name: 'todo_reminder' }),
      human('images', { additional_kwargs: { hide_from_ui: true } }),
    ];
    expect(latestUserText([human('before'), message, ...ours])).toBe('the words');
  });

  test('a thread without a user message has no text, and a long message is cut', () => {
    expect(latestUserText([])).toBe('');
    expect(latestUserText([human('x'.repeat(30_000))])).toHaveLength(20_000);
  });
});

describe(matchToolsByKeywords, () => {
  const tools = [
    tool('silent', {}),
    tool('mail', { keywords: ['mail', 'letter'], priority: 10 }),
    tool('post', { keywords: ['mail'], priority: 10 }),
    tool('chat', { keywords: ['chat message'], priority: 90 }),
    tool('low', { keywords: ['mail'] }),
    tool('kalender', { keywords: ['日历', 'Straße'], priority: 1 }),
  ];
  const routed = (words: string, limit = 5): readonly string[] =>
    matchToolsByKeywords(words, tools, limit).map(({ name }) => name);

  test('by priority, then by the keywords met', () => {
    expect(routed('a letter by MAIL, no chat message')).toEqual(['chat', 'mail', 'post', 'low']);
    expect(routed('mail')).toEqual(['mail', 'post', 'low']);
  });

  test('no more than asked for', () => {
    expect(routed('mail', 2)).toEqual(['mail', 'post']);
  });

  test.each<[string, readonly string[]]>([
    ['mailbox, blackmail, e_mail', []],
    ['mailbox and e-mail!', ['mail', 'post', 'low']],
    ['查看日历吧', ['kalender']],
    ['in der STRASSE', []],
    ['auf der straße', ['kalender']],
    ['', []],
  ])('%j calls for %j', (words, expected) => {
    expect(routed(words)).toEqual(expected);
  });
});
