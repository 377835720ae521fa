import { BugError, ConflictError } from '@caribou/contracts';
import type { ObjectBody, ObjectSource } from '@caribou/core';
import { checkedBytes, type Mismatch } from './checked-bytes.js';

const SHA256 = /^[0-9a-f]{64}$/;

export type Pieces = AsyncIterable<Uint8Array> | readonly Uint8Array[];

/** Bytes of a body. */
export const sizeOf = (body: ObjectBody): number => ('bytes' in body ? body.bytes.byteLength : body.size);

/** @throws {BugError} for a body whose size is not a count of bytes, or whose checksum is not a SHA-256 */
export function checkBody(body: ObjectBody): void {
  const { sha256 } = body;
  const size = sizeOf(body);
  if (!Number.isSafeInteger(size) || size < 0) throw new BugError(`the size of an object is ${size}`);
  if (sha256 !== undefined && !SHA256.test(sha256))
    throw new BugError('the checksum of an object is not a SHA-256 in lower-case digits');
}

/**
 * Opens a body for one attempt. Reading a source fails with a ConflictError before the last piece when it is not what it says; bytes in
 * memory are one piece.
 */
export const openChecked = (key: string, body: ObjectBody): Pieces =>
  'bytes' in body ? [body.bytes] : checkedBytes(body.open(), body, (found) => differs(key, body, found));

const differs = (key: string, { size, sha256 }: ObjectSource, found: Mismatch): ConflictError =>
  new ConflictError(
    `object ${key}: its content changed while it was stored: ${sha256} with ${size} bytes was announced, ${
      found.sha256 === undefined ? 'more bytes' : `${found.sha256} with ${found.size} bytes`
    } came`,
    { details: { reason: 'altered', key } },
  );
