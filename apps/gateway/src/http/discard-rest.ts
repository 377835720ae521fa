import type { FastifyRequest } from 'fastify';

/** How long a refused request is read, so that its sender gets to see the answer. */
const LINGER_MS = 10_000;
const SLOW_LINGER_MS = 30_000;
const SLOW_BYTES_PER_MS = (1024 * 1024) / 1_000;

/** Reads the rest of a refused request for a while, then breaks the connection: a sender must not go on for ever. */
export function discardRest({ raw }: FastifyRequest, maxBytes: number): void {
  let bytes = 0;
  discard(raw, LINGER_MS, (chunk) => {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) raw.destroy();
  });
}

/**
 * The same at 1 MiB per second and for half a minute. Somebody who sends large bodies in spite of refusals is slowed down:
 * reading them as fast as they come would cost other users what the refusal is to save. A connection that has sent its
 * body to the end can be used again.
 */
export function discardSlowly({ raw }: FastifyRequest): void {
  discard(raw, SLOW_LINGER_MS, (chunk) => {
    raw.pause();
    setTimeout(() => raw.resume(), chunk.byteLength / SLOW_BYTES_PER_MS).unref();
  });
}

function discard(raw: FastifyRequest['raw'], lingerMs: number, take: (chunk: Uint8Array) => void): void {
  if (raw.readableEnded || raw.destroyed) return;
  const timer = setTimeout(() => raw.destroy(), lingerMs).unref();
  raw.on('data', take);
  raw.once('close', () => clearTimeout(timer));
  raw.once('end', () => clearTimeout(timer));
  raw.unpipe();
  raw.resume();
}
