import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { StoreFailure } from '../common/store-failure.js';
import { withDeadline } from '../common/deadline.js';
import { folderFailure } from './folder-failure.js';

const PIECE_BYTES = 256 * 1024;

/** Opens the file of an object, and no other thing in its place. @throws errors of the system call */
export const openObject = (file: string): Promise<FileHandle> =>
  open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);

export interface Part {
  readonly start: number;
  readonly length: number;
}

/** Reads a part of an open file at once. @throws {StoreFailure} when the file ends before it */
export async function readAtOnce(handle: FileHandle, { start, length }: Part): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, start + filled);
    if (bytesRead === 0) throw cut();
    filled += bytesRead;
  }
  return bytes;
}

export interface PiecewiseOptions extends Part {
  /** For each piece, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Reads a part of a file in pieces. The file is open only while it is read, so that a body left unread costs nothing. */
export async function* readInPieces(
  file: string,
  { start, length, timeoutMs, signal }: PiecewiseOptions,
): AsyncGenerator<Uint8Array, void> {
  const inTime = <T>(work: () => Promise<T>): Promise<T> => withDeadline({ timeoutMs, signal }, work, folderFailure);
  const handle = await inTime(() => openObject(file));
  try {
    for (let read = 0; read < length; ) {
      const part = { start: start + read, length: Math.min(PIECE_BYTES, length - read) };
      const piece = await inTime(() => readAtOnce(handle, part));
      read += piece.byteLength;
      yield piece;
    }
  } finally {
    await handle.close();
  }
}

const cut = (): StoreFailure => new StoreFailure('cut', 'the file of an object is shorter than it was');
