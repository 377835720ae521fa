import { Readable } from 'node:stream';
import { MAX_EDITED_BYTES } from '@caribou/contracts';
import { readUpTo, sha256Of, type UserFiles } from '@caribou/files';
import type { ByteRange } from './byte-range.js';
import { type Body, HEAD_BYTES, sendBody, type SendOptions } from './send-body.js';

const cacheControl = 'private, no-cache';

export type OpenFile = Awaited<ReturnType<UserFiles['open']>>;
type Stat = Readonly<Record<'size' | 'ino' | 'ctimeNs' | 'mtimeMs', bigint>>;

/**
 * Identifies the version of a file. It changes with every write, because commands can set a file's mtime but not its
 * ctime.
 */
export const versionOf = ({ ino, size, ctimeNs }: Stat): string =>
  [ino, size, ctimeNs].map((part) => part.toString(36)).join('-');

async function headOf(handle: OpenFile): Promise<Uint8Array> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}

/** The body of a small file. Its ETag is the SHA-256 that a request to edit the file must repeat. */
const bodyOf = (content: Buffer): Pick<Body, 'size' | 'etag' | 'head' | 'stream'> => ({
  size: content.byteLength,
  etag: `"${sha256Of(content)}"`,
  head: content.subarray(0, HEAD_BYTES),
  stream: ({ start, end }) => Readable.from([content.subarray(start, end + 1)]),
});

/** Answers with an open file or the requested part of it, and closes it. */
export async function sendFile(handle: OpenFile, path: string, options: SendOptions): Promise<void> {
  let streaming = false;
  try {
    const stat = await handle.stat({ bigint: true });
    const file = { name: path.slice(path.lastIndexOf('/') + 1), modifiedMs: Number(stat.mtimeMs), cacheControl };
    const small = stat.size > MAX_EDITED_BYTES ? null : await readUpTo(handle, MAX_EDITED_BYTES);
    if (small !== null) {
      await sendBody({ ...file, ...bodyOf(small) }, options);
      return;
    }
    const etag = `"${versionOf(stat)}"`;
    // The range has an end, so that a file that grows meanwhile does not exceed the Content-Length.
    const stream = (range: ByteRange) => handle.createReadStream(range);
    streaming = await sendBody({ ...file, etag, size: Number(stat.size), head: await headOf(handle), stream }, options);
  } finally {
    if (!streaming) await handle.close();
  }
}
