import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { ObjectRange, OpenFile } from '@caribou/core';

const CHUNK_BYTES = 64 * 1024;

/** Reads without a stream of the descriptor's own, which would close it when it is destroyed. */
async function* bytesOf(handle: FileHandle, { start, end }: ObjectRange): AsyncGenerator<Uint8Array> {
  for (let at = start; at <= end; ) {
    const length = Math.min(CHUNK_BYTES, end - at + 1);
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/** An open file of this machine. It owns the descriptor from now on, also when this fails. */
export async function openLocalFile(handle: FileHandle): Promise<OpenFile> {
  try {
    const [stat, { mtimeMs }] = [await handle.stat({ bigint: true }), await handle.stat()];
    // Commands can set a file's mtime but not its ctime.
    const version = [stat.ino, stat.size, stat.ctimeNs].map((part) => part.toString(36)).join('-');
    return {
      size: Number(stat.size),
      modifiedMs: mtimeMs,
      version,
      stream: (range) => Readable.from(bytesOf(handle, range), { objectMode: false }),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The bytes of an open file, which stays open; null when there are more than `maxBytes`. */
export async function readUpTo(file: OpenFile, maxBytes: number): Promise<Buffer | null> {
  if (file.size > maxBytes) return null;
  const parts: Buffer[] = [];
  for await (const part of file.stream({ start: 0, end: file.size - 1 })) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
