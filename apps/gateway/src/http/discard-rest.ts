import type { FastifyRequest } from 'fastify';

/** How much of a refused request is read and thrown away, so that its sender gets to see the answer. */
const LINGER_MS = 10_000;

/** Reads the rest of a refused request for a while, then breaks the connection: a sender must not go on for ever. */
export function discardRest({ raw }: FastifyRequest, maxBytes: number): void {
  if (raw.readableEnded || raw.destroyed) return;
  let bytes = 0;
  const timer = setTimeout(() => raw.destroy(), LINGER_MS).unref();
  raw.on('data', (chunk: Uint8Array) => {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) raw.destroy();
  });
  raw.once('close', () => clearTimeout(timer));
  raw.once('end', () => clearTimeout(timer));
  raw.unpipe();
  raw.resume();
}
