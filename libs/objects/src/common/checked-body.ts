import { BugError, ConflictError } from '@caribou/contracts';
import type { ObjectBody } from '@caribou/core';
import { checkedBytes, type Mismatch } from './checked-bytes.js';

const SHA256 = /^[0-9a-f]{64}$/;

/** @throws {BugError} for a body without a size or a checksum */
export function checkBody({ size, sha256 }: ObjectBody): void {
  if (!Number.isSafeInteger(size) || size < 0) throw new BugError(`the size of an object is ${size}`);
  if (!SHA256.test(sha256)) throw new BugError('the checksum of an object is not a SHA-256 in lower-case digits');
}

/** Opens a body for one attempt. Reading it fails with a ConflictError before the last piece when it is not what it says. */
export const openChecked = (key: string, body: ObjectBody): AsyncGenerator<Uint8Array, void> =>
  checkedBytes(body.open(), body, (found) => differs(key, body, found));

const differs = (key: string, { size, sha256 }: ObjectBody, found: Mismatch): ConflictError =>
  new ConflictError(
    `object ${key}: its content changed while it was stored: ${sha256} with ${size} bytes was announced, ${
      found.sha256 === undefined ? 'more bytes' : `${found.sha256} with ${found.size} bytes`
    } came`,
    { details: { reason: 'altered', key } },
  );
