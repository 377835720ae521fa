import { escapeMarkup } from '@caribou/core';
import fc from 'fast-check';
import { headOf, OMITTED, tailOf, tailOfChars } from './markup-text.js';

const text = fc.string({ unit: fc.constantFrom('a', ' ', '<', '&', '>', 'é', '字', '😀', ';'), maxLength: 60 });
const size = fc.integer({ min: OMITTED.length, max: 120 });

describe('a part of escaped text', () => {
  test.each([
    ['headOf', headOf, (part: string) => Buffer.byteLength(part)],
    ['tailOf', tailOf, (part: string) => Buffer.byteLength(part)],
    ['tailOfChars', tailOfChars, (part: string) => part.length],
  ])('%s fits, is marked where it was cut, and cuts no character and no entity in two', (_name, cut, measure) => {
    fc.assert(
      fc.property(text, size, (raw, max) => {
        const escaped = escapeMarkup(raw);

        const part = cut(escaped, max);

        expect(measure(part)).toBeLessThanOrEqual(max);
        if (measure(escaped) <= max) expect(part).toBe(escaped);
        else expect(part).toContain(OMITTED);
        expect(part).not.toMatch(/\p{Cs}/u);
        expect(part).not.toMatch(/&(?!(amp|lt|gt);)|\uFFFD/);
        expect(escaped).toContain(part.replace(OMITTED, ''));
      }),
    );
  });

  test('of the head the beginning is there, of the tail the end', () => {
    expect(headOf('0123456789', 8)).toBe('012[...]');
    expect(tailOf('0123456789', 8)).toBe('[...]789');
    expect(tailOfChars('0123456789', 8)).toBe('[...]789');
    expect(tailOf('&amp;&amp;x', 9)).toBe('[...]x');
    expect(headOf('x', 0)).toBe(OMITTED);
  });
});
