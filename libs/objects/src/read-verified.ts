import type { ObjectStore } from '@caribou/core';
import { checkedBytes, type Expected, type Mismatch } from './common/checked-bytes.js';
import { StoreFailure } from './common/store-failure.js';

/**
 * Reads an object and checks that it has the expected content. The last piece is only passed on when it has, so a reader that
 * sees the end of the bytes has the right ones.
 *
 * @throws {NotFoundError} when there is none
 * @throws {UnavailableError} with the reason `altered` when the object has another content or size, or as `ObjectStore.get`
 */
export async function* readVerified(
  store: Pick<ObjectStore, 'get'>,
  key: string,
  { expected, signal }: { readonly expected: Expected; readonly signal?: AbortSignal },
): AsyncGenerator<Uint8Array, void> {
  const { size, body } = await store.get(key, undefined, signal);
  if (expected.size !== undefined && size !== expected.size) throw altered(key, expected, { size });
  yield* checkedBytes(body, { ...expected, size }, (found) => altered(key, expected, found));
}

function altered(key: string, { size, sha256 }: Expected, found: Mismatch): StoreFailure {
  const wanted = size === undefined ? sha256 : `${sha256} with ${size} bytes`;
  const seen = found.sha256 === undefined ? `${found.size} bytes` : `${found.sha256} with ${found.size} bytes`;
  return new StoreFailure(
    'altered',
    `object ${key} was altered after it was stored: expected ${wanted}, found ${seen}; restore it from a backup`,
  );
}
