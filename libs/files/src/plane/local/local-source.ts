import { createHash } from 'node:crypto';
import { closeSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import type { FileSource } from '@caribou/core';
import { isClosed, type LocalTree } from './local-tree.js';

const readAsync = promisify(read);
const CHUNK_BYTES = 1024 * 1024;
/** A small file is read without waiting, which costs a tenth. */
const SMALL_BYTES = 64 * 1024;

/**
 * A file of a local tree. What is added to it while it is read is left out; when it is gone or closed to this process the source
 * has no bytes.
 */
export const localSource = (local: LocalTree, path: string, size: number): FileSource => ({
  size,
  open: () => bytesOf(local, path, size),
});

/** SHA-256 of the first `size` bytes of a file; undefined when it has fewer. */
export async function localHash(local: LocalTree, path: string, size: number): Promise<string | undefined> {
  const hash = createHash('sha256');
  let length = 0;
  for await (const chunk of bytesOf(local, path, size)) {
    hash.update(chunk);
    length += chunk.byteLength;
  }
  return length === size ? hash.digest('hex') : undefined;
}

async function* bytesOf(local: LocalTree, path: string, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  const descriptor = openIfAllowed(local, path);
  if (descriptor === undefined) return;
  try {
    for (let at = 0; at < size; ) {
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - at));
      const length =
        size <= SMALL_BYTES
          ? readSync(descriptor, buffer, 0, buffer.byteLength, at)
          : (await readAsync(descriptor, buffer, 0, buffer.byteLength, at)).bytesRead;
      if (length === 0) return;
      at += length;
      yield buffer.subarray(0, length);
    }
  } finally {
    closeSync(descriptor);
  }
}

function openIfAllowed(local: LocalTree, path: string): number | undefined {
  try {
    return local.openFile(path);
  } catch (error) {
    if (isClosed(error)) return undefined;
    throw error;
  }
}
