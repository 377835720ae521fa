import { parseOptions } from './clarification-options.js';

describe(parseOptions, () => {
  test.each<[string, unknown]>([
    ['a list', ['A', 'B']],
    ['objects', [{ label: 'A' }, { value: 'B' }]],
    ['a JSON string', '["A", "B"]'],
    ['an object', { first: 'A', second: 'B' }],
    ['a wrapped list', { options: ['A', 'B'] }],
    ['a wrapped list as JSON', '{"options": ["A", "B"]}'],
    ['elements', '<options><option>A</option><option id="2">B</option></options>'],
    ['lines with marks', '1. A\n- B\n'],
    ['repeated and empty entries', ['A', '', 'B', 'A', ' ']],
  ])('%s is read', (_what, value) => {
    expect(parseOptions(value)).toEqual(['A', 'B']);
  });

  test('there are at most 24 options of at most 200 characters', () => {
    const options = parseOptions(Array.from({ length: 40 }, (_, index) => `${index} ${'x'.repeat(300)}`));

    expect(options).toHaveLength(24);
    expect(options.every((label) => label.length <= 200)).toBe(true);
  });

  test.each([undefined, null, 7, '', '{broken', [null, 7n]])('%p gives no more than text', (value) => {
    expect(() => parseOptions(value)).not.toThrow();
  });
});
