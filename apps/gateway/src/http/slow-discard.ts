import type { FastifyReply, FastifyRequest } from 'fastify';
import { discard } from './drain-request.js';

/** A smaller body is read at once, and its connection can be used again. */
const LARGE_BODY_BYTES = 256 * 1024;
/** Larger ones of one user are read at this rate together. */
const BYTES_PER_SECOND = 2 * 1024 * 1024;
/** After this time a connection is broken whose body is not read to its end. */
const LINGER_MS = 30_000;

/**
 * Throws large bodies of refused requests away slowly, and asks their senders not to use the connection again. Read as
 * fast as they come, they would cost other users what a refusal is to save; not read at all, the end of the connection
 * would reach the sender before the answer.
 */
export class SlowDiscard {
  /** Until when the bytes read so far take the rate of each user, by `performance.now()`. */
  private readonly paidUntilMs = new Map<string, number>();

  constructor(private readonly bytesPerSecond = BYTES_PER_SECOND) {}

  /** To be called before the answer. */
  read({ raw }: FastifyRequest, reply: FastifyReply, userId: string): void {
    if (bodyBytes(raw.headers) <= LARGE_BODY_BYTES) return;
    void reply.header('connection', 'close');
    closeAfterBody(raw);
    discard(raw, LINGER_MS, (chunk) => {
      raw.pause();
      setTimeout(() => raw.resume(), this.waitMs(userId, chunk.byteLength)).unref();
    });
  }

  /** Milliseconds until more may be read for a user, after another `bytes`. */
  private waitMs(userId: string, bytes: number): number {
    const nowMs = performance.now();
    const paidUntilMs = Math.max(nowMs, this.paidUntilMs.get(userId) ?? 0) + (bytes / this.bytesPerSecond) * 1_000;
    if (!this.paidUntilMs.has(userId)) this.forgetAt(userId, paidUntilMs);
    this.paidUntilMs.set(userId, paidUntilMs);
    return paidUntilMs - nowMs;
  }

  private forgetAt(userId: string, atMs: number): void {
    const forget = (): void => {
      const paidUntilMs = this.paidUntilMs.get(userId) ?? 0;
      if (paidUntilMs <= performance.now()) this.paidUntilMs.delete(userId);
      else this.forgetAt(userId, paidUntilMs);
    };
    setTimeout(forget, Math.ceil(atMs - performance.now())).unref();
  }
}

function bodyBytes(headers: FastifyRequest['raw']['headers']): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers['content-length'] ?? 0);
}

/**
 * Node destroys the socket after the last answer of a connection, and what the sender still sends is then met with a
 * reset, which may overtake the answer. Instead only our side ends, and the socket is destroyed after the body.
 */
function closeAfterBody(raw: FastifyRequest['raw']): void {
  const { socket } = raw;
  const destroySoon = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    if (raw.readableEnded || raw.destroyed) destroySoon();
    else {
      socket.end();
      raw.once('end', destroySoon);
    }
  };
}
