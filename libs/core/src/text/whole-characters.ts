/** The longest beginning of `bytes` that does not end inside a UTF-8 sequence. */
export function wholeCharacters(bytes: Buffer): Buffer {
  let start = bytes.length;
  for (let back = 1; back <= 4 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (length > back) start = bytes.length - back;
    break;
  }
  return bytes.subarray(0, start);
}
