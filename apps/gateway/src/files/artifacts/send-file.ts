import { Readable } from 'node:stream';
import { MAX_EDITED_BYTES } from '@caribou/contracts';
import type { OpenFile } from '@caribou/core';
import { readUpTo, sha256Of } from '@caribou/files';
import type { ByteRange } from './byte-range.js';
import { type Body, HEAD_BYTES, sendBody, type SendOptions } from './send-body.js';

const cacheControl = 'private, no-cache';

async function headOf(file: OpenFile): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  const head = file.stream({ start: 0, end: Math.min(HEAD_BYTES, file.size) - 1 });
  for await (const part of head) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** The body of a small file. Its ETag is the SHA-256 that a request to edit the file must repeat. */
const bodyOf = (content: Buffer): Pick<Body, 'size' | 'etag' | 'head' | 'stream'> => ({
  size: content.byteLength,
  etag: `"${sha256Of(content)}"`,
  head: content.subarray(0, HEAD_BYTES),
  stream: ({ start, end }) => Readable.from([content.subarray(start, end + 1)]),
});

/** The bytes of a range; the file is closed when they were sent or the client is gone. */
export function lastStreamOf(file: Pick<OpenFile, 'close'>, bytes: Readable): Readable {
  bytes.once('close', () => void file.close());
  return bytes;
}

/** Answers with an open file or the requested part of it, and closes it. */
export async function sendFile(opened: OpenFile, path: string, options: SendOptions): Promise<void> {
  let streaming = false;
  try {
    const { size, modifiedMs, version } = opened;
    const file = { name: path.slice(path.lastIndexOf('/') + 1), modifiedMs, cacheControl };
    const small = await readUpTo(opened, MAX_EDITED_BYTES);
    if (small !== null) {
      await sendBody({ ...file, ...bodyOf(small) }, options);
      return;
    }
    // The range has an end, so that a file that grows meanwhile does not exceed the Content-Length.
    const stream = (range: ByteRange) => lastStreamOf(opened, opened.stream(range));
    streaming = await sendBody({ ...file, etag: `"${version}"`, size, head: await headOf(opened), stream }, options);
  } finally {
    if (!streaming) await opened.close();
  }
}
