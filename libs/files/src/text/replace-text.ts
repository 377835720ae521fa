import { isUtf8 } from 'node:buffer';
import type { ThreadKey } from '@caribou/core';
import { sha256Of } from '../file-hash.js';
import { FileRefusedError } from '../file-refused.js';
import { openLocalFile, readUpTo } from '../open-file.js';
import type { ThreadFiles } from '../thread-files.js';

export interface TextReplacement {
  readonly content: Buffer;
  /** SHA-256 in hex of the expected content. */
  readonly expectedSha256: string;
  /** Neither the old nor the new content may be larger. */
  readonly maxBytes: number;
}

/**
 * Replaces a text file that still has the expected content; returns whether it had. Between the check and the
 * replacement a command or a file tool may write: the later content wins, whole, and the other is lost.
 *
 * @throws {FileRefusedError} for a file that is not UTF-8 text, too large, or missing
 */
export async function replaceText(
  files: ThreadFiles,
  { thread, path }: { readonly thread: ThreadKey; readonly path: string },
  { content, expectedSha256, maxBytes }: TextReplacement,
): Promise<boolean> {
  if (content.byteLength > maxBytes) throw new FileRefusedError('too_large', path);
  const file = await openLocalFile(await files.openFile(thread, path));
  let known: Buffer | null;
  try {
    known = await readUpTo(file, maxBytes);
  } finally {
    await file.close();
  }
  if (known === null) throw new FileRefusedError('too_large', path);
  if (!isText(known)) throw new FileRefusedError('binary', path);
  if (sha256Of(known) !== expectedSha256.toLowerCase()) return false;
  await files.replace(thread, path, content);
  return true;
}

const isText = (bytes: Buffer): boolean => isUtf8(bytes) && !bytes.includes(0);
