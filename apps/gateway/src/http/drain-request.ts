import type { FastifyRequest } from 'fastify';

/** Time for which the rest of a refused request is read, so that its sender receives the answer. */
const LINGER_MS = 10_000;

/** Reads the rest of a refused request, within bounds of time and bytes, and breaks the connection beyond them. */
export function drainRequest({ raw }: FastifyRequest, maxBytes: number): void {
  let bytes = 0;
  discard(raw, LINGER_MS, (chunk) => {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) raw.destroy();
  });
}

/** Passes the chunks of a request to `take`, which may pause it, for at most `lingerMs`. */
export function discard(raw: FastifyRequest['raw'], lingerMs: number, take: (chunk: Uint8Array) => void): void {
  if (raw.readableEnded || raw.destroyed) return;
  const timer = setTimeout(() => raw.destroy(), lingerMs).unref();
  raw.on('data', take);
  raw.once('close', () => clearTimeout(timer));
  raw.once('end', () => clearTimeout(timer));
  raw.unpipe();
  raw.resume();
}
