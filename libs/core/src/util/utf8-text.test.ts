import fc from 'fast-check';
import { utf8Bytes, utf8Text } from './utf8-text.js';

test('the text of any bytes is that of a decoder of UTF-8', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' })).map((each) => Buffer.from(each));
  fc.assert(
    fc.property(fc.oneof(text, fc.uint8Array()), fc.nat(3), (bytes, offset) => {
      const part = bytes.subarray(Math.min(offset, bytes.byteLength));
      expect(utf8Text(part)).toBe(new TextDecoder().decode(part));
    }),
  );
});

test('the bytes of any text are its UTF-8', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' })), (text) => {
      expect(Buffer.from(utf8Bytes(text))).toEqual(Buffer.from(text, 'utf8'));
    }),
  );
  expect(Buffer.from(utf8Bytes('a\ud800b')).toString()).toBe('a\ufffdb');
});
