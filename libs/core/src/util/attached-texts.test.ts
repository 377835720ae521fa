import fc from 'fast-check';
import { decodeAttached, encodeAttached, hasAttachments } from './attached-texts.js';

test('a value and its attachments come back, and no JSON is taken for them', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(fc.uint8Array({ maxLength: 50 })), fc.nat(3), (value, texts, offset) => {
      const bytes = encodeAttached(value, texts);
      const moved = Buffer.concat([Buffer.alloc(offset), bytes]).subarray(offset);
      expect(hasAttachments(moved)).toBe(true);
      const decoded = decodeAttached(moved);
      expect(decoded.value).toEqual(JSON.parse(JSON.stringify(value)));
      expect(Buffer.from(decoded.attachments)).toEqual(Buffer.concat(texts));
      expect(hasAttachments(Buffer.from(JSON.stringify(value)))).toBe(false);
    }),
  );
});

test('what is cut or no JSON is refused', () => {
  const bytes = encodeAttached({ a: 1 }, []);
  for (let length = 0; length < bytes.byteLength; length += 1)
    expect(() => decodeAttached(bytes.subarray(0, length))).toThrow(SyntaxError);
  const broken = Buffer.from(bytes);
  broken.write('x', 5);
  expect(() => decodeAttached(broken)).toThrow(SyntaxError);
});
