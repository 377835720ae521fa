import fc from 'fast-check';
import { EventDecoder } from './event-decoder.js';

function decode(bytes: Buffer, sizes: readonly number[]): string[] {
  const events: string[] = [];
  const decoder = new EventDecoder(({ data }) => events.push(data));
  let at = 0;
  for (const size of sizes) {
    decoder.write(bytes.subarray(at, at + size));
    at += size;
  }
  decoder.write(bytes.subarray(at));
  decoder.end();
  return events;
}

describe('EventDecoder', () => {
  test('gives the same events however the bytes are cut and lines are broken', () => {
    const line = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter((text) => !/[\r\n]/.test(text));
    const breaks = fc.constantFrom('\n', '\r\n', '\r');
    const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 60 });
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), breaks, cuts, (texts, end, sizes) => {
        const body = texts.map((text) => `: note${end}data:  ${text}${end}${end}`).join('');
        expect(decode(Buffer.from(body), sizes)).toEqual(texts.map((text) => ` ${text}`));
      }),
    );
  });

  test('reads an event of megabytes in small pieces', () => {
    const data = 'x'.repeat(4 * 1024 * 1024);
    expect(
      decode(
        Buffer.from(`data: ${data}\n\n`),
        Array.from({ length: 8_000 }, () => 512),
      ),
    ).toEqual([data]);
  });
});
