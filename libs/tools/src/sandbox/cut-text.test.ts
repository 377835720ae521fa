import fc from 'fast-check';
import { cutMiddle, cutEnd } from './cut-text.js';

const text = fc.string({ unit: 'binary', minLength: 0, maxLength: 400 });
const limit = fc.integer({ min: 80, max: 200 });
const hasHalfPair = (value: string): boolean => /\p{Surrogate}/u.test(value);

describe(cutMiddle, () => {
  test('a text that fits is untouched, a longer one fits afterwards and says how much was skipped', () => {
    fc.assert(
      fc.property(text, limit, (value, maxChars) => {
        const cut = cutMiddle(value, maxChars);

        if (value.length <= maxChars) {
          expect(cut).toBe(value);
          return;
        }
        const [, skipped = ''] = /\n\.\.\. \[(\d+) characters skipped\] \.\.\.\n/.exec(cut) ?? [];
        const shown = cut.length - `\n... [${skipped} characters skipped] ...\n`.length;
        expect(cut.length).toBeLessThanOrEqual(maxChars);
        expect(shown + Number(skipped)).toBe(value.length);
      }),
    );
  });

  test('head and tail stay, and no surrogate pair is cut in two', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', '😀', 'é'), { minLength: 150 }), limit, (chars, maxChars) => {
        const cut = cutMiddle(chars.join(''), maxChars);

        expect(cut.startsWith(chars[0] ?? '')).toBe(true);
        expect(cut.endsWith(chars.at(-1) ?? '')).toBe(true);
        expect(hasHalfPair(cut)).toBe(false);
      }),
    );
  });
});

describe(cutEnd, () => {
  test('the result is the beginning, not longer than asked, without half of a pair', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.nat({ max: 50 }), (value, maxChars) => {
        const cut = cutEnd(value, maxChars);

        expect(value.startsWith(cut)).toBe(true);
        expect(cut.length).toBeLessThanOrEqual(maxChars);
        expect(hasHalfPair(cut)).toBe(false);
      }),
    );
  });
});
