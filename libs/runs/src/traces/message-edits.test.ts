import fc from 'fast-check';
import { editsOf } from './message-edits.js';

const apply = (text: string, edits: NonNullable<ReturnType<typeof editsOf>>): string =>
  edits.reduceRight((left, { at, removed, inserted }) => left.slice(0, at) + inserted + left.slice(at + removed), text);

describe(editsOf, () => {
  test('says what was put around a part of a long text', () => {
    const text = 'a long question '.repeat(1_000);

    expect(editsOf(`{"content":"${text}"}`, `{"content":"<input>${text}</input>"}`)).toEqual([
      { at: 12, removed: 0, inserted: '<input>' },
      { at: 12 + text.length, removed: 0, inserted: '</input>' },
    ]);
  });

  test('says what replaced a part', () => {
    expect(editsOf('one two three', 'one 2 three')).toEqual([{ at: 4, removed: 3, inserted: '2' }]);
  });

  test('says nothing of a text that has much that is new', () => {
    expect(editsOf('short', `short${'x'.repeat(401)}`)).toBeUndefined();
  });

  test('always leads to the changed text', () => {
    const words = fc
      .array(fc.constantFrom('a', 'b', 'ab', ' ', '\u{1f600}'), { maxLength: 30 })
      .map((list) => list.join(''));
    fc.assert(
      fc.property(words, words, (original, changed) => {
        const edits = editsOf(original, changed);
        expect(edits === undefined ? changed : apply(original, edits)).toBe(changed);
      }),
    );
  });
});
