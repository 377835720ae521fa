import type { FastifyRequest } from 'fastify';
import { discard } from './discard-rest.js';

/** All refused bodies of one user are read at this rate together. */
const BYTES_PER_SECOND = 2 * 1024 * 1024;
/** After this time a connection is broken whose body is not read to its end. */
const LINGER_MS = 30_000;

/**
 * Reads refused bodies slowly and throws them away. Whoever sends large bodies in spite of refusals is slowed down: read
 * as fast as they come, they would cost other users what a refusal is to save. A connection whose body was read to its
 * end can be used again.
 */
export class SlowDiscard {
  /** Until when the bytes read so far take the rate of each user, by `performance.now()`. */
  private readonly paidUntilMs = new Map<string, number>();

  constructor(private readonly bytesPerSecond = BYTES_PER_SECOND) {}

  read({ raw }: FastifyRequest, userId: string): void {
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
