import fc from 'fast-check';
import { wholeCharacters } from './whole-characters.js';

describe('wholeCharacters', () => {
  test('keeps every whole character and nothing of a cut one', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(60), (text, cut) => {
        const kept = wholeCharacters(Buffer.from(text).subarray(0, cut)).toString('utf8');

        expect(text.startsWith(kept)).toBe(true);
        expect(Buffer.byteLength(kept)).toBeGreaterThan(Math.min(cut, Buffer.byteLength(text)) - 4);
      }),
    );
  });
});
