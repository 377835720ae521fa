import { createHash } from 'node:crypto';
import { chmodSync, closeSync, constants, fstatSync, openSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import type { MirrorStep } from '@caribou/core';
import { descriptorPath, isClosed, isGone, type LocalTree } from '../plane/local/local-tree.js';
import { PERMISSION_BITS } from '../plane/tree/tree-nodes.js';

const readAsync = promisify(read);
/** Bytes of a step; a frame of the protocol holds one. */
const STEP_BYTES = 128 * 1024;
/** A small file is read without waiting, which costs a tenth. */
const SMALL_BYTES = 64 * 1024;
const ZEROS = Buffer.alloc(STEP_BYTES);
/** O_PATH of Linux, which Node has no name for: a descriptor that needs no permission. */
const O_PATH = 0o10000000;
const OWNER_READ = 0o400;

/**
 * The bytes of a file as steps: `data` and `zeros`, at most `size` bytes. Returns their checksum, or undefined when the file has fewer
 * bytes, is gone or cannot be read.
 */
export async function* readSteps(
  local: LocalTree,
  path: string,
  size: number,
): AsyncGenerator<MirrorStep, string | undefined, undefined> {
  const descriptor = openToRead(local, path);
  if (descriptor === undefined) return undefined;
  try {
    const hash = createHash('sha256');
    let zeros = 0;
    for (let at = 0; at < size; ) {
      const bytes = await readAt(descriptor, {
        at,
        length: Math.min(STEP_BYTES, size - at),
        isSmall: size <= SMALL_BYTES,
      });
      if (bytes.byteLength === 0) return undefined;
      hash.update(bytes);
      at += bytes.byteLength;
      if (bytes.byteLength === STEP_BYTES && ZEROS.equals(bytes)) {
        zeros += bytes.byteLength;
        continue;
      }
      if (zeros > 0) yield { kind: 'zeros', length: zeros };
      zeros = 0;
      yield { kind: 'data', bytes };
    }
    if (zeros > 0) yield { kind: 'zeros', length: zeros };
    return hash.digest('hex');
  } finally {
    closeSync(descriptor);
  }
}

async function readAt(
  descriptor: number,
  { at, length, isSmall }: { readonly at: number; readonly length: number; readonly isSmall: boolean },
): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  const count = isSmall
    ? readSync(descriptor, buffer, 0, length, at)
    : (await readAsync(descriptor, buffer, 0, length, at)).bytesRead;
  return buffer.subarray(0, count);
}

function openToRead(local: LocalTree, path: string): number | undefined {
  try {
    return local.openFile(path);
  } catch (error) {
    if (!isClosed(error)) throw error;
    return openClosed(local, path);
  }
}

/** Opens a file that its owner, who this process is, may not read: it has the mode for a moment. */
function openClosed(local: LocalTree, path: string): number | undefined {
  let handle: number | undefined;
  try {
    handle = openSync(local.at(path), O_PATH | constants.O_NOFOLLOW);
    const stats = fstatSync(handle);
    if (!stats.isFile()) return undefined;
    const mode = stats.mode & PERMISSION_BITS;
    chmodSync(descriptorPath(handle), mode | OWNER_READ);
    try {
      return openSync(descriptorPath(handle), constants.O_RDONLY);
    } finally {
      chmodSync(descriptorPath(handle), mode);
    }
  } catch (error) {
    if (isClosed(error) || isGone(error)) return undefined;
    throw error;
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}
