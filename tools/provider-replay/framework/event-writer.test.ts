import { cutBytes } from './event-writer.js';
import { seededRandom } from './random.js';

const text = 'data: {"text":"日本語 🍣 äöü"}\r\n\r\n'.repeat(20);

describe(cutBytes, () => {
  const cuts = (seed: number): string[] =>
    cutBytes(Buffer.from(text), seededRandom(seed)).map((piece) => piece.toString('hex'));

  test.each([1, 2, 3, 4, 5, 6, 7, 8])('the pieces of seed %i are the bytes, and the same each time', (seed) => {
    expect(Buffer.from(cuts(seed).join(''), 'hex').toString()).toBe(text);
    expect(cuts(seed)).toEqual(cuts(seed));
  });

  test('some seed cuts inside characters and inside line breaks', () => {
    const pieces = [1, 2, 3, 4, 5, 6, 7, 8].flatMap(cuts).map((hex) => Buffer.from(hex, 'hex'));

    expect(pieces.some((piece) => ((piece[0] ?? 0) & 0xc0) === 0x80)).toBe(true);
    expect(pieces.some((piece) => piece.toString().endsWith('\r'))).toBe(true);
  });
});
