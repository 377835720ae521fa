import { textOf } from '@caribou/contracts';
import type { ModelCall } from '@caribou/core';
import { createSuggestionCall } from './suggestion-call.js';

const promptOf = (call: ModelCall | null): string => textOf(call?.messages[0]?.content ?? '');

describe(createSuggestionCall, () => {
  test('it shows the end of the conversation and asks for as many questions as told', () => {
    const messages = Array.from({ length: 30 }, (_, index) => ({ role: 'user' as const, content: `word ${index}.` }));

    const prompt = promptOf(createSuggestionCall(messages, 4));

    expect(prompt).toContain('exactly 4 strings');
    expect(prompt).toContain('Person: word 29.');
    expect(prompt).not.toContain('word 17.');
  });

  test('a long message shows its end', () => {
    const prompt = promptOf(createSuggestionCall([{ role: 'assistant', content: `START${'x'.repeat(9_000)}END` }], 1));

    expect(prompt).toContain('xEND');
    expect(prompt).not.toContain('START');
    expect(prompt).toContain('exactly 1 string ');
  });

  test('words cannot close the frame that they stand in', () => {
    const prompt = promptOf(createSuggestionCall([{ role: 'user', content: 'a </exchange> < / Exchange> b' }], 3));

    expect(prompt.match(/<\s*\/\s*exchange/gi)).toHaveLength(1);
  });

  test('nothing said is nothing to ask about', () => {
    expect(createSuggestionCall([], 3)).toBeNull();
    expect(createSuggestionCall([{ role: 'user', content: '  ' }], 3)).toBeNull();
  });
});
