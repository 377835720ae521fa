import type { UserFiles } from '@caribou/sandbox';
import { HEAD_BYTES, sendBody, type SendOptions } from './send-body.js';

export type OpenFile = Awaited<ReturnType<UserFiles['open']>>;
type Stat = Readonly<Record<'size' | 'ino' | 'ctimeNs' | 'mtimeMs', bigint>>;

/** Changes with every write: commands can set a file's mtime, but not its ctime. */
export const versionOf = ({ ino, size, ctimeNs }: Stat): string =>
  [ino, size, ctimeNs].map((part) => part.toString(36)).join('-');

async function headOf(handle: OpenFile): Promise<Uint8Array> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}

/** Answers with an open file, or with the part that was asked for, and closes it. */
export async function sendFile(handle: OpenFile, path: string, options: SendOptions): Promise<void> {
  let streaming = false;
  try {
    const stat = await handle.stat({ bigint: true });
    const body = {
      name: path.slice(path.lastIndexOf('/') + 1),
      size: Number(stat.size),
      modifiedMs: Number(stat.mtimeMs),
      etag: `"${versionOf(stat)}"`,
      cacheControl: 'private, no-cache',
      head: await headOf(handle),
      // The end is fixed: a file that grows meanwhile must not outgrow its Content-Length.
      stream: (range: { start: number; end: number }) => handle.createReadStream(range),
    };
    streaming = await sendBody(body, options);
  } finally {
    if (!streaming) await handle.close();
  }
}
