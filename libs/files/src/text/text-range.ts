import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { wholeCharacters } from '@caribou/core';
import { FileRefusedError } from '../file-refused.js';

/** Largest file of which a part is read as text, in bytes: all of it is scanned to count its lines. */
export const MAX_TEXT_FILE_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

/** Lines are 1-based and inclusive. */
export interface LineRange {
  readonly startLine?: number | undefined;
  readonly endLine?: number | undefined;
  /** Most bytes of text to answer. */
  readonly maxBytes: number;
}

export interface TextRange {
  readonly text: string;
  /** The size of the whole file. */
  readonly totalBytes: number;
  readonly totalLines: number;
  /** True when `maxBytes` cut the range; the text then ends at a whole character. */
  readonly truncated: boolean;
  /** SHA-256 of the whole file, in hex. */
  readonly sha256: string;
}

/** What is known of a file while it is scanned from its beginning. */
interface Scan {
  line: number;
  totalBytes: number;
  pieceBytes: number;
  dropped: boolean;
  readonly pieces: Buffer[];
}

function appendPiece(scan: Scan, piece: Buffer, range: LineRange): void {
  const room = range.maxBytes - scan.pieceBytes;
  if (piece.length > room) scan.dropped = true;
  if (room <= 0) return;
  // The chunk is overwritten by the next one.
  const part = Buffer.from(piece.subarray(0, room));
  scan.pieces.push(part);
  scan.pieceBytes += part.length;
}

/** Counts the lines of a chunk, and adds what of it is in the range, as one piece. */
function scanChunk(scan: Scan, chunk: Buffer, range: LineRange): void {
  const { startLine: first = 1, endLine: last = Number.POSITIVE_INFINITY } = range;
  const isWanted = (): boolean => scan.line >= first && scan.line <= last;
  let from = isWanted() ? 0 : chunk.length;
  let to = chunk.length;
  for (let newline = chunk.indexOf(NEWLINE); newline !== -1; newline = chunk.indexOf(NEWLINE, newline + 1)) {
    if (scan.line === last) to = newline + 1;
    scan.line += 1;
    if (scan.line === first && isWanted()) from = newline + 1;
  }
  if (from < to) appendPiece(scan, chunk.subarray(from, to), range);
}

/**
 * The text of a range of lines. A file that holds a NUL byte is binary.
 *
 * @throws FileRefusedError `binary`, or `too_large` over 64 MiB
 */
export async function readTextRange(handle: FileHandle, path: string, range: LineRange): Promise<TextRange> {
  const scan: Scan = { line: 1, totalBytes: 0, pieceBytes: 0, dropped: false, pieces: [] };
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const hash = createHash('sha256');
  let endsWithNewline = true;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, scan.totalBytes);
    if (bytesRead === 0) break;
    const chunk = buffer.subarray(0, bytesRead);
    if (chunk.includes(0)) throw new FileRefusedError('binary', path);
    scanChunk(scan, chunk, range);
    hash.update(chunk);
    scan.totalBytes += bytesRead;
    endsWithNewline = chunk[bytesRead - 1] === NEWLINE;
    if (scan.totalBytes > MAX_TEXT_FILE_BYTES) throw new FileRefusedError('too_large', path);
  }
  const text = Buffer.concat(scan.pieces);
  return {
    text: (scan.dropped ? wholeCharacters(text) : text).toString('utf8'),
    totalBytes: scan.totalBytes,
    totalLines: endsWithNewline ? scan.line - 1 : scan.line,
    truncated: scan.dropped,
    sha256: hash.digest('hex'),
  };
}
