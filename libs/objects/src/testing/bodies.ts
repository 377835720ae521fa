import { createHash, randomBytes } from 'node:crypto';
import type { ObjectSource } from '@caribou/core';

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A body of bytes that come in pieces, or of text. */
export function bodyOf(content: Uint8Array | string, pieceBytes = 64 * 1024): ObjectSource {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return { size: bytes.byteLength, sha256: sha256Of(bytes), open: () => inPieces(bytes, pieceBytes) };
}

/** A body whose bytes are not those of its checksum. */
export const alteredBody = (content: string): ObjectSource => ({
  ...bodyOf(content),
  open: () => inPieces(Buffer.from(content.toUpperCase()), content.length),
});

export async function* inPieces(bytes: Uint8Array, pieceBytes: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.byteLength; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

export async function readAll(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = [];
  for await (const piece of pieces) read.push(piece);
  return Buffer.concat(read);
}

export const noise = (bytes: number): Buffer => randomBytes(bytes);
