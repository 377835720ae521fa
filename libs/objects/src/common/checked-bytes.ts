import { createHash } from 'node:crypto';

export interface Expected {
  /** Bytes; undefined when it is not known. */
  readonly size?: number;
  /** SHA-256 in lower-case hexadecimal digits. */
  readonly sha256: string;
}

/** What was wrong with bytes that are not the expected ones. */
export interface Mismatch {
  readonly size: number;
  /** Undefined when there were more bytes than expected, the rest of which was not read. */
  readonly sha256?: string;
}

/**
 * Passes on bytes whose size and checksum are checked. The last piece is only passed on when all bytes are the expected ones, so
 * that a receiver never has all of a wrong content.
 *
 * @throws what `errorOf` makes of a difference
 */
export async function* checkedBytes(
  source: AsyncIterable<Uint8Array>,
  expected: Expected,
  errorOf: (found: Mismatch) => Error,
): AsyncGenerator<Uint8Array, void> {
  const hash = createHash('sha256');
  const limit = expected.size ?? Number.MAX_SAFE_INTEGER;
  let size = 0;
  let last: Uint8Array | undefined;
  for await (const piece of source) {
    if (piece.byteLength === 0) continue;
    size += piece.byteLength;
    if (size > limit) throw errorOf({ size });
    hash.update(piece);
    if (last !== undefined) yield last;
    last = piece;
  }
  const sha256 = hash.digest('hex');
  if (sha256 !== expected.sha256 || (expected.size !== undefined && size !== expected.size))
    throw errorOf({ size, sha256 });
  if (last !== undefined) yield last;
}
