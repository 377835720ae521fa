import fc from 'fast-check';
import { occurrences, replaceAt } from './text-edit.js';

const edited = (text: string, old: string, by: string) => {
  const content = Buffer.from(text);
  const part = Buffer.from(old);
  return replaceAt(content, occurrences(content, part), { length: part.length, by: Buffer.from(by) });
};
const word = fc.string({ unit: fc.constantFrom('a', 'b', '\n', 'é'), maxLength: 12 });

describe(replaceAt, () => {
  test('gives what String.replaceAll gives', () => {
    fc.assert(
      fc.property(word, word, word, (text, old, by) => {
        fc.pre(old !== '');
        expect(edited(text, old, by).content.toString()).toBe(text.replaceAll(old, () => by));
      }),
    );
  });

  test('every line that differs from the old text is among the changed ones, when no line is added or lost', () => {
    const line = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 4 });
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), line, line, (lines, old, by) => {
        fc.pre(old !== '' && old !== by);
        const { content, changed } = edited(lines.join('\n'), old, by);
        const now = content.toString().split('\n');
        const differing = now.flatMap((text, index) => (text === lines[index] ? [] : [index + 1]));
        const named = changed.flatMap(({ first, last }) =>
          Array.from({ length: last - first + 1 }, (_, index) => first + index),
        );
        expect(named).toEqual(expect.arrayContaining(differing));
        expect(named.length).toBeLessThanOrEqual(now.length);
      }),
    );
  });

  test.each([
    ['a\nb\nc', 'b', 'x\ny', [{ first: 2, last: 3 }]],
    ['a\nb\nc', 'b\n', '', [{ first: 2, last: 2 }]],
    ['a\nb\nc', 'b\n', 'x\n', [{ first: 2, last: 2 }]],
    [
      'b\nb\nc\nb',
      'b',
      'x',
      [
        { first: 1, last: 2 },
        { first: 4, last: 4 },
      ],
    ],
    ['b b', 'b', 'x\ny', [{ first: 1, last: 3 }]],
  ])('of %j, %j by %j changes %j', (text, old, by, changed) => {
    expect(edited(text, old, by).changed).toEqual(changed);
  });

  test('bytes that are no UTF-8 stay as they are', () => {
    const content = Buffer.from([0xff, 0x61, 0xfe]);

    expect(
      replaceAt(content, occurrences(content, Buffer.from('a')), { length: 1, by: Buffer.from('b') }).content,
    ).toEqual(Buffer.from([0xff, 0x62, 0xfe]));
  });
});
