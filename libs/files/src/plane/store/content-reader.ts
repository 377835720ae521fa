import { createHash } from 'node:crypto';
import { InvalidRequestError } from '@caribou/contracts';
import type { FileNode, ObjectRange, ObjectStore } from '@caribou/core';
import { damaged, unlessMissing } from './stored-damage.js';

const WHAT = "a file's content";

/**
 * The bytes of a file: the whole file, whose last bytes are only given when all have the checksum, or a range, which is not
 * checked.
 *
 * @throws {UnavailableError} when the content is missing, cut or altered
 * @throws {InvalidRequestError} for a range that is not within the file
 */
export async function* openContent(
  store: ObjectStore,
  file: FileNode,
  range?: ObjectRange,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (range === undefined) {
    if (file.size > 0) yield* checked(file, bytesOf(store, file, { start: 0, end: file.size - 1 }));
    return;
  }
  const { start, end } = range;
  if (!(Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start <= end && end < file.size)) {
    throw new InvalidRequestError(`range: must be within the ${file.size} bytes of the file`, {
      details: { field: 'range', size: file.size },
    });
  }
  yield* bytesOf(store, file, range);
}

async function* checked(file: FileNode, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash('sha256');
  let last: Uint8Array | undefined;
  for await (const chunk of bytes) {
    if (chunk.byteLength === 0) continue;
    if (last !== undefined) yield last;
    hash.update(chunk);
    last = chunk;
  }
  if (hash.digest('hex') !== file.sha256) throw damaged(WHAT, file.content.object, 'altered');
  if (last !== undefined) yield last;
}

/** Exactly the bytes of the range, which is counted from the beginning of the file. */
async function* bytesOf(
  store: ObjectStore,
  { size, content: { object, offset } }: FileNode,
  { start, end }: ObjectRange,
): AsyncGenerator<Uint8Array, void, undefined> {
  const place = { start: offset + start, end: offset + end };
  const stored = await unlessMissing(WHAT, object, () => store.get(object, place));
  if (stored.size < offset + size) throw damaged(WHAT, object, 'cut');
  let left = end - start + 1;
  for await (const chunk of stored.body) {
    left -= chunk.byteLength;
    if (left < 0) throw damaged(WHAT, object, 'altered');
    yield chunk;
  }
  if (left > 0) throw damaged(WHAT, object, 'cut');
}
