import type { FastifyReply, FastifyRequest } from 'fastify';

/** A smaller body is read and thrown away, and the connection lives on. */
const LARGE_BODY_BYTES = 256 * 1024;
/** The sender of a larger one has so long to take the answer before the connection is broken. */
const LINGER_MS = 2_000;

/**
 * Leaves a large body of a refused request where it is, in its sender's hands: reading megabytes only to throw them away
 * would take from other users what the refusal is to save. To be called before the answer.
 */
export function leaveUnread({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (bodyBytes(raw.headers) <= LARGE_BODY_BYTES) return;
  // Node throws away what nobody has begun to read, as fast as it comes; what is begun stops when its buffer is full.
  raw.read(0);
  reply.raw.once('finish', () => {
    const linger = setTimeout(() => raw.destroy(), LINGER_MS).unref();
    raw.once('close', () => clearTimeout(linger));
  });
}

function bodyBytes(headers: FastifyRequest['raw']['headers']): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers['content-length'] ?? 0);
}
