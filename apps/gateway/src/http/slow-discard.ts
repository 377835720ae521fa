import type { FastifyReply, FastifyRequest } from 'fastify';
import { discard } from './drain-request.js';

/** A smaller body is read without delay, and its connection can be reused. */
const LARGE_BODY_BYTES = 256 * 1024;
/**
 * Bytes of larger bodies of one user that are read at full speed, and the rate beyond them, for all of the user together.
 * A client whose requests are seldom refused gets its answer at once. One that continues to send large bodies causes few
 * garbage collections: V8 starts one for each 64 MiB of buffers.
 */
const READ_RATE = { burstBytes: 32 * 1024 * 1024, bytesPerSecond: 512 * 1024 };
/** Time after which the connection is closed, even if the body was not read to its end. */
const LINGER_MS = 30_000;

/**
 * Reads and discards large bodies of refused requests slowly, and asks their senders not to reuse the connection. At full
 * speed, reading would take the time that a refusal is meant to save; without reading, the connection would be closed
 * before the sender received the answer.
 */
export class SlowDiscard {
  /** For each user, the time until which the bytes read so far use up the rate, by `performance.now()`. */
  private readonly paidUntilMs = new Map<string, number>();

  constructor(private readonly rate = READ_RATE) {}

  /** Begins to discard the body; must be called before the answer is sent. */
  read({ raw }: FastifyRequest, reply: FastifyReply, userId: string): void {
    if (bodyBytes(raw.headers) <= LARGE_BODY_BYTES) return;
    void reply.header('connection', 'close');
    closeAfterBody(raw);
    discard(raw, LINGER_MS, (chunk) => {
      const waitMs = this.waitMs(userId, chunk.byteLength);
      if (waitMs <= 0) return;
      raw.pause();
      setTimeout(() => raw.resume(), waitMs).unref();
    });
  }

  /** Counts `bytes` for the user, and returns the milliseconds until more may be read, negative within the burst. */
  private waitMs(userId: string, bytes: number): number {
    const { burstBytes, bytesPerSecond } = this.rate;
    const nowMs = performance.now();
    const paidUntilMs = Math.max(nowMs, this.paidUntilMs.get(userId) ?? 0) + (bytes / bytesPerSecond) * 1_000;
    if (!this.paidUntilMs.has(userId)) this.forgetAt(userId, paidUntilMs);
    this.paidUntilMs.set(userId, paidUntilMs);
    return paidUntilMs - nowMs - (burstBytes / bytesPerSecond) * 1_000;
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
 * Delays the destruction of the socket until the body was read. Node destroys it after the last answer of a connection;
 * data that still arrives then causes a reset, which may overtake the answer. Until the body ends, only this side is closed.
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
