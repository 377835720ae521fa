import { setTimeout as sleep } from 'node:timers/promises';

/** A refusal is held back for as long as its user has to wait for the next request, within these bounds, in milliseconds. */
const SHORTEST_MS = 500;
const LONGEST_MS = 2_000;
/** Part of the delay that is drawn at random: refusals given together are not followed by requests that come together. */
const RANDOM_PART = 0.5;
/** Delayed refusals of one user at once; the connections behind them cost memory, so more are answered at once. */
const MAX_DELAYED_PER_USER = 64;

/**
 * Holds a refused request back before its answer. Clients that repeat at once get so few answers that refusing them
 * takes the gateway little time, and leaves it to other users.
 */
export class RefusalDelay {
  private readonly delayed = new Map<string, number>();

  constructor(
    private readonly shortestMs = SHORTEST_MS,
    private readonly longestMs = LONGEST_MS,
    private readonly random: () => number = Math.random,
  ) {}

  /** Resolves when the refusal may be answered. `retryAfterMs`: until a request of this user would be taken. */
  async pass(userId: string, retryAfterMs: number): Promise<void> {
    const count = this.delayed.get(userId) ?? 0;
    if (count >= MAX_DELAYED_PER_USER) return;
    this.delayed.set(userId, count + 1);
    try {
      await sleep(this.delayMs(retryAfterMs), undefined, { ref: false });
    } finally {
      const left = (this.delayed.get(userId) ?? 1) - 1;
      if (left > 0) this.delayed.set(userId, left);
      else this.delayed.delete(userId);
    }
  }
  private delayMs(retryAfterMs: number): number {
    const wholeMs = Math.min(Math.max(retryAfterMs, this.shortestMs), this.longestMs);
    return wholeMs * (1 - RANDOM_PART * this.random());
  }
}
