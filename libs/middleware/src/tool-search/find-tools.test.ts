import { type AnyTool, defineTool } from '@caribou/core';
import fc from 'fast-check';
import { z } from 'zod';
import { findTools } from './find-tools.js';

const tool = (name: string, description: string): AnyTool =>
  defineTool({ name, description, input: z.object({}), run: () => Promise.resolve({ content: '' }) });
const tools = [
  tool('calendar_list', 'Lists appointments'),
  tool('chat_post', 'Posts a message to a channel'),
  tool('chat_read', 'Reads a channel'),
  tool('mail_read', 'Reads a message'),
  tool('mail_send', 'Sends a message by mail (SMTP)'),
  tool('mail_trash', 'Throws a letter away'),
  tool('weather', 'Tells the weather of a place. Message-free.'),
];
const found = (query: string): readonly string[] => findTools(query, tools).map(({ name }) => name);

describe(findTools, () => {
  test('select: gives the tools of exactly these names, more than five if asked', () => {
    expect(found('select:mail_send, chat_post,nothing,mail')).toEqual(['chat_post', 'mail_send']);
    expect(found(`select:${tools.map(({ name }) => name).join(',')}`)).toHaveLength(7);
    expect(found('select:MAIL_SEND')).toEqual([]);
  });

  test('+word gives tools with the word in their name, those that match more of the rest first', () => {
    expect(found('+mail')).toEqual(['mail_read', 'mail_send', 'mail_trash']);
    expect(found('+MAIL send')).toEqual(['mail_send', 'mail_read', 'mail_trash']);
    expect(found('+mail letter away')).toEqual(['mail_trash', 'mail_read', 'mail_send']);
    expect(found('+message')).toEqual([]);
  });

  test('a regular expression is searched in names and descriptions, names first, ignoring case', () => {
    expect(found('MAIL')).toEqual(['mail_read', 'mail_send', 'mail_trash']);
    expect(found('message|trash')).toEqual(['mail_trash', 'chat_post', 'mail_read', 'mail_send', 'weather']);
    expect(found('^chat_(post|read)$')).toEqual(['chat_post', 'chat_read']);
  });

  test('an invalid regular expression is searched literally', () => {
    expect(found('(SMTP')).toEqual(['mail_send']);
    expect(found('(?=mail)')).toEqual([]);
    expect(found(`${'x'.repeat(100)}|mail`)).toEqual([]);
  });

  test.each(['', '  ', '+', '+ ', 'select:', 'select:,'])('%j finds nothing', (query) => {
    expect(found(query)).toEqual([]);
  });

  test('at most five are found, and only the beginning of a description is searched', () => {
    expect(found('.')).toHaveLength(5);
    expect(findTools('needle', [tool('a', `${'x'.repeat(1_000)}needle`)])).toEqual([]);
  });

  test('any query gives distinct tools of the list', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 120 }), fc.constantFrom('', '+', 'select:'), (words, form) => {
        const names = found(`${form}${words}`);

        expect(new Set(names).size).toBe(names.length);
        expect(names.length).toBeLessThanOrEqual(form === 'select:' ? tools.length : 5);
      }),
    );
  });
});
