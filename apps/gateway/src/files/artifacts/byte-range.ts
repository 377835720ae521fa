/** A range of bytes; the first and the last byte are included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The part of a file that a Range header requests (RFC 9110 §14). Returns `whole` without a header, for several ranges and
 * for other units, which a server may ignore, and `unsatisfiable` when the range is malformed or beyond the end.
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  if (header === undefined || !/^bytes=/i.test(header) || header.includes(',')) return 'whole';
  const [, first, last] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header) ?? [];
  if (first === undefined || last === undefined || first + last === '') return 'unsatisfiable';
  return first === '' ? lastBytes(Number(last), size) : bytesFrom(Number(first), last, size);
}

const lastBytes = (length: number, size: number): ByteRange | 'unsatisfiable' =>
  Math.min(length, size) === 0 ? 'unsatisfiable' : { start: size - Math.min(length, size), end: size - 1 };

function bytesFrom(start: number, last: string, size: number): ByteRange | 'unsatisfiable' {
  const end = last === '' ? size - 1 : Number(last);
  return start >= size || end < start ? 'unsatisfiable' : { start, end: Math.min(end, size - 1) };
}
