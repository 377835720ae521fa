import { Readable } from 'node:stream';
import type { UserFiles } from '@caribou/sandbox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { byteRange } from './byte-range.js';
import { dispositionOf, presentationOf } from './content-type.js';

/** Bytes looked at to tell text from binary. */
const HEAD_BYTES = 8_192;

type Handle = Awaited<ReturnType<UserFiles['open']>>;
type Stat = Readonly<Record<'size' | 'ino' | 'ctimeNs' | 'mtimeMs', bigint>>;

export interface SendOptions {
  readonly path: string;
  /** As an attachment, whatever it is. */
  readonly download: boolean;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Changes with every write: commands can set a file's mtime, but not its ctime. */
const etagOf = ({ ino, size, ctimeNs }: Stat): string =>
  `"${[ino, size, ctimeNs].map((part) => part.toString(36)).join('-')}"`;

function isUnchanged({ headers }: FastifyRequest, etag: string, modifiedMs: number): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) {
    const listed = tags.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
    return listed.includes(etag) || listed.includes('*');
  }
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return Math.floor(modifiedMs / 1_000) * 1_000 <= since;
}

/** The Range header, unless If-Range names another version of the file. */
function rangeHeader({ headers, method }: FastifyRequest, etag: string): string | undefined {
  const condition = headers['if-range'];
  return method === 'GET' && (condition === undefined || condition === etag) ? headers.range : undefined;
}

async function headOf(handle: Handle): Promise<Uint8Array> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}

/**
 * Answers with an open file, or with the part that was asked for, and closes it. Whoever wrote the file is not
 * trusted: nothing is sniffed, and what a browser might run is sandboxed and saved instead of shown.
 */
export async function sendFile(handle: Handle, options: SendOptions): Promise<void> {
  let streaming = false;
  try {
    const stat = await handle.stat({ bigint: true });
    const head = await headOf(handle);
    streaming = await answer(handle, { ...options, stat, head });
  } finally {
    if (!streaming) await handle.close();
  }
}

interface Answer extends SendOptions {
  readonly stat: Stat;
  readonly head: Uint8Array;
}

/** Whether the handle is now the reply's own, which closes it at the end. */
async function answer(handle: Handle, { stat, head, path, download, request, reply }: Answer): Promise<boolean> {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const { contentType, inline } = presentationOf(name, head);
  const [size, modifiedMs, etag] = [Number(stat.size), Number(stat.mtimeMs), etagOf(stat)];
  void reply.headers({
    'x-content-type-options': 'nosniff',
    'content-security-policy': 'sandbox',
    'cache-control': 'private, no-cache',
    'accept-ranges': 'bytes',
    'last-modified': new Date(modifiedMs).toUTCString(),
    etag,
  });
  if (isUnchanged(request, etag, modifiedMs)) {
    await reply.status(304).send();
    return false;
  }
  const range = byteRange(rangeHeader(request, etag), size);
  if (range === 'unsatisfiable') {
    void reply.status(416).header('content-range', `bytes */${size}`);
    await reply.send({ detail: 'there is no such part of the file' });
    return false;
  }
  const { start, end } = range === 'whole' ? { start: 0, end: size - 1 } : range;
  if (range !== 'whole') void reply.status(206).header('content-range', `bytes ${start}-${end}/${size}`);
  void reply.headers({
    'content-type': contentType,
    'content-disposition': dispositionOf(name, inline && !download),
    'content-length': end - start + 1,
  });
  if (request.method === 'HEAD' || end < start) {
    await reply.send(Readable.from([]));
    return false;
  }
  // The end is fixed: a file that grows meanwhile must not outgrow its Content-Length.
  await reply.send(handle.createReadStream({ start, end }));
  return true;
}
