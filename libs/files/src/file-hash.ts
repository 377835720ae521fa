import { createHash, webcrypto } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

const CHUNK_BYTES = 256 * 1024;

/** SHA-256 of bytes, in hex. */
export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** The same on another thread, for bytes that take longer than handing them over. */
export const sha256Aside = async (bytes: Uint8Array): Promise<string> =>
  Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex');

/** SHA-256 of a whole file, in hex; undefined for one that is larger than `maxBytes`. */
export async function fileHash(handle: FileHandle, maxBytes: number): Promise<string | undefined> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const hash = createHash('sha256');
  for (let offset = 0; offset <= maxBytes; ) {
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, offset);
    if (bytesRead === 0) return hash.digest('hex');
    hash.update(buffer.subarray(0, bytesRead));
    offset += bytesRead;
  }
  return undefined;
}
