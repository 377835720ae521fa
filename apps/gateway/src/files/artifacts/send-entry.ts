import { Readable } from 'node:stream';
import type { OpenFile } from '@caribou/core';
import { openEntry } from './archive-entry.js';
import { HEAD_BYTES, sendBody, type SendOptions } from './send-body.js';
import { lastStreamOf } from './send-file.js';

/** Entries may be cached for some minutes: skills change seldom, and each entry requires reading the archive again. */
const CACHE_CONTROL = 'private, max-age=300';

/** Answers with an entry of an open `.skill` archive, which is inflated while it is sent, and closes the archive. */
export async function sendEntry(archive: OpenFile, inner: string, options: SendOptions): Promise<void> {
  let streaming = false;
  try {
    const entry = await openEntry(archive, inner);
    const stream = ({ start, end }: { start: number; end: number }): Readable =>
      lastStreamOf(archive, Readable.from(entry.bytes(start, end), { objectMode: false }));
    const body = {
      name: entry.name,
      size: entry.size,
      modifiedMs: archive.modifiedMs,
      etag: `"${archive.version}-${entry.crc32.toString(36)}"`,
      cacheControl: CACHE_CONTROL,
      head: await entry.head(HEAD_BYTES),
      stream,
    };
    streaming = await sendBody(body, options);
  } finally {
    if (!streaming) await archive.close();
  }
}
