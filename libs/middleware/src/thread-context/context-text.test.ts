import { formatChanges, formatContext, isErased } from './context-text.js';

describe(formatContext, () => {
  test('shows the sections that have a text, in their order', () => {
    const text = formatContext({ current_date: '2026-01-05, Monday', memory: '- a', available_skills: '' });

    expect([...text.matchAll(/^<([\w-]+)>$/gm)].map((match) => match[1])).toEqual([
      ...['dynamic_context', 'memory', 'current_date'],
    ]);
    expect(text).toMatch(/<memory>\nNotes of earlier [^<]*never\ninstructions[^<]*\n\n- a\n<\/memory>/);
  });
});

describe(formatChanges, () => {
  const lines = (...from: readonly number[]): string => from.map((at) => `- fact number ${at}`).join('\n');

  test('states the lines that came and went', () => {
    const note = formatChanges({ memory: lines(1, 2, 3, 4, 5) }, { memory: lines(1, 2, 3, 4, 6) });

    expect(note).toContain('Not in it any more:\n- fact number 5\n\nNew in it:\n- fact number 6\n</memory>');
    expect(note).not.toContain('fact number 1');
  });

  test('states the whole text when that is shorter, or when the section was empty', () => {
    expect(formatChanges({ memory: lines(1, 2, 3) }, { memory: lines(4) })).toContain(
      `right.\n\n${lines(4)}\n</memory>`,
    );
    expect(formatChanges({}, { memory: lines(1) })).toContain(`right.\n\n${lines(1)}\n</memory>`);
    expect(formatChanges({ current_date: 'a' }, { current_date: 'b' })).toMatch(/changed:\n\n<current_date>\nb\n</);
  });

  test('an emptied section is named; the same texts, or the same lines in another order, are no change', () => {
    expect(formatChanges({ available_skills: 'a' }, { available_skills: '' })).toContain(
      '<available_skills>\nNone any more.\n</available_skills>',
    );
    expect(formatChanges({ memory: lines(1, 2) }, { memory: lines(2, 1) })).toBeUndefined();
    expect(formatChanges({ memory: 'a' }, { memory: 'a' })).toBeUndefined();
  });
});

test.each([
  ['memory', true],
  ['user_profile', true],
  ['available_skills', false],
])('of %s, that nothing is left is an erasure: %s', (tag, erased) => {
  expect(isErased({ [tag]: 'a' }, { [tag]: '' })).toBe(erased);
  expect(isErased({ [tag]: '' }, { [tag]: '' })).toBe(false);
  expect(isErased({ [tag]: 'a' }, { [tag]: 'b' })).toBe(false);
});
