import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ByteRange, byteRange } from './byte-range.js';
import { dispositionOf, presentationOf } from './content-type.js';

/** Bytes that are examined to distinguish text from binary content. */
export const HEAD_BYTES = 8_192;

/** The content to send; its author is not trusted. */
export interface Body {
  /** The file's name, whose extension determines the content type. */
  readonly name: string;
  readonly size: number;
  readonly modifiedMs: number;
  readonly etag: string;
  readonly cacheControl: string;
  /** The first bytes, at most `HEAD_BYTES`. */
  readonly head: Uint8Array;
  /** Reads a range that lies within the content. */
  stream(range: ByteRange): Readable;
}

export interface SendOptions {
  /** Whether to send the content as an attachment, whatever its type. */
  readonly download: boolean;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

function isUnchanged({ headers }: FastifyRequest, etag: string, modifiedMs: number): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) {
    const listed = tags.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
    return listed.includes(etag) || listed.includes('*');
  }
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return Math.floor(modifiedMs / 1_000) * 1_000 <= since;
}

/** The Range header of the request; undefined when If-Range names another version of the file. */
function rangeHeader({ headers, method }: FastifyRequest, etag: string): string | undefined {
  const condition = headers['if-range'];
  return method === 'GET' && (condition === undefined || condition === etag) ? headers.range : undefined;
}

/**
 * Answers with the body or the requested part. Browsers must not guess its type; content that they might execute is
 * sandboxed and downloaded. Resolves to whether `stream` was called, whose stream then belongs to the reply.
 */
export async function sendBody(body: Body, { download, request, reply }: SendOptions): Promise<boolean> {
  const { name, size, modifiedMs, etag } = body;
  const { contentType, inline } = presentationOf(name, body.head);
  void reply.headers({
    'x-content-type-options': 'nosniff',
    'content-security-policy': 'sandbox',
    'cache-control': body.cacheControl,
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
  await reply.send(body.stream({ start, end }));
  return true;
}
