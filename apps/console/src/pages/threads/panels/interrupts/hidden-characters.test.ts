import { escapeHidden, hasHidden, hasHiddenWithin, revealHidden } from './hidden-characters.js';

describe('revealHidden', () => {
  test('a text without hidden characters is one part', () => {
    expect(revealHidden('rm -rf "Ärger"\n\tمرحبا')).toEqual([{ text: 'rm -rf "Ärger"\n\tمرحبا' }]);
  });

  test('marks that reorder text and characters without width become parts with their code', () => {
    expect(revealHidden('pay \u202Enomed\u202C to bob\u200B')).toEqual([
      { text: 'pay ' },
      { text: '\u202E', code: 'U+202E' },
      { text: 'nomed' },
      { text: '\u202C', code: 'U+202C' },
      { text: ' to bob' },
      { text: '\u200B', code: 'U+200B' },
    ]);
  });

  test('a carriage return is hidden unless it ends a line, and tags beyond the first plane are one character', () => {
    expect(revealHidden('a\r\nb\rc\u{E0041}')).toEqual([
      { text: 'a\r\nb' },
      { text: '\r', code: 'U+000D' },
      { text: 'c' },
      { text: '\u{E0041}', code: 'U+E0041' },
    ]);
  });

  test('the parts together are the text', () => {
    const text = '\u0000x\u2066y\u2069\rz\uFEFF';
    expect(
      revealHidden(text)
        .map((part) => part.text)
        .join(''),
    ).toBe(text);
  });
});

describe('hasHiddenWithin', () => {
  test('looks at texts and names on every level', () => {
    expect(hasHiddenWithin({ a: [{ b: 'x\u202E' }] })).toBe(true);
    expect(hasHiddenWithin({ a: { 'b\u200B': 1 } })).toBe(true);
    expect(hasHiddenWithin({ a: [1, null, 'plain\n'] })).toBe(false);
    expect(hasHidden('plain')).toBe(false);
  });
});

test('escapeHidden changes how JSON is written and not what it means', () => {
  const value = { a: 'pay \u202Enomed\u202C', b: ['x\u200B', 'y\u{E0041}', 'ü'] };
  const json = escapeHidden(JSON.stringify(value, null, 2));
  expect(json).toContain('pay \\u202enomed\\u202c');
  expect(json).toContain('y\\udb40\\udc41');
  expect(hasHidden(json)).toBe(false);
  expect(JSON.parse(json)).toEqual(value);
});
