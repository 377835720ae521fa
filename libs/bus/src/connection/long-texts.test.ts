import fc from 'fast-check';
import { LongTexts } from './long-texts.js';

const long = fc
  .string({ unit: 'binary', maxLength: 40 })
  .map((text) => `${text}"\\\n\u0000\u001f\u2028€😀`.repeat(2_500));
const value = fc.oneof(
  fc.string(),
  long,
  fc.boolean(),
  fc.integer(),
  fc.constant(undefined),
  fc.constant(null),
  fc.dictionary(fc.string(), fc.jsonValue()),
);
const joined = (pieces: Iterable<Uint8Array>): string => Buffer.concat([...pieces]).toString('utf8');

describe(LongTexts, () => {
  test('an object has the bytes of its JSON', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), value, { maxKeys: 6 }), (fields) => {
        expect(joined(new LongTexts().value(fields))).toBe(JSON.stringify(fields));
      }),
    );
  });

  test('entries have the bytes of their JSON', () => {
    const entry = fc.tuple(fc.string(), fc.oneof(fc.string(), long, fc.boolean()));
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 6 }), (entries) => {
        expect(joined(new LongTexts().entries(entries))).toBe(JSON.stringify(entries));
      }),
    );
  });

  test('half a surrogate pair is escaped, as in JSON', () => {
    const text = '\ud800'.repeat(20_000);
    expect(joined(new LongTexts().value({ text }))).toBe(JSON.stringify({ text }));
  });

  test('a text that is used again is not encoded again', () => {
    const text = 'x'.repeat(20_000);
    const texts = new LongTexts();
    const [, first] = texts.entries([['content', text]]);
    const [, second] = texts.value({ path: '/x', content: text });
    expect(first).toBe(second);
    expect(first).toHaveLength(20_002);
  });

  test('writes what is no object as JSON does', () => {
    for (const value of [null, true, 'x'.repeat(20_000), ['x'.repeat(20_000)]])
      expect(joined(new LongTexts().value(value))).toBe(JSON.stringify(value));
  });
});
