import fc from 'fast-check';
import { JsonGauge } from './json-gauge.js';

/** Judges a text that arrives in pieces of so many bytes. */
function judge(text: string, pieceBytes: number): string {
  const gauge = new JsonGauge();
  const bytes = Buffer.from(text);
  try {
    for (let from = 0; from < bytes.length; from += pieceBytes) gauge.push(bytes.subarray(from, from + pieceBytes));
    return 'fits';
  } catch (error) {
    return error instanceof Error ? error.message : 'no error';
  }
}

const keysIn = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce(
        (sum: number, part) => sum + keysIn(part),
        Array.isArray(value) ? 0 : Object.keys(value).length,
      )
    : 0;

describe(JsonGauge, () => {
  const metadata = fc.dictionary(
    fc.string(),
    fc.oneof(fc.string(), fc.integer(), fc.array(fc.dictionary(fc.string(), fc.string(), { maxKeys: 30 }))),
    { maxKeys: 60, minKeys: 30 },
  );

  test('a field fits exactly when its keys do, in whatever pieces and spacing the text comes', () => {
    const spacing = fc.constantFrom(undefined, ' ', 2);
    fc.assert(
      fc.property(metadata, fc.integer({ min: 1, max: 9 }), spacing, fc.nat(600), (value, piece, space, more) => {
        const padded = {
          ...value,
          padding: Object.fromEntries(Array.from({ length: more }, (_, at) => [`p${at}`, at])),
        };
        const text = JSON.stringify({ input: [], metadata: padded, after: padded.padding }, undefined, space);
        const words = judge(text, piece);
        expect(words).toBe(keysIn(padded) > 500 ? 'metadata: holds more than 500 keys' : 'fits');
      }),
      { numRuns: 50 },
    );
  });

  test('brackets and quotes within strings count for nothing', () => {
    const text = JSON.stringify({ metadata: { text: '[{"\\\\"'.repeat(2_000), 'a"]}': '{' }, list: ['\\', '"'] });
    for (const piece of [1, 2, 3, 1_000]) expect(judge(text, piece)).toBe('fits');
  });

  test('a name within the content of a message is the message’s own', () => {
    const metadata = Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`k${at}`, at]));
    expect(judge(JSON.stringify({ messages: [{ content: [{ metadata }] }] }), 100)).toBe('fits');
    expect(judge(JSON.stringify({ messages: [{ metadata }] }), 100)).toBe(
      'messages.metadata: holds more than 500 keys',
    );
  });
});
