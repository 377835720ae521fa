import { setTimeout as sleep } from 'node:timers/promises';

/** A refusal is delayed until the user's next request would be accepted, within these bounds, in milliseconds. */
const SHORTEST_MS = 500;
const LONGEST_MS = 2_000;
/** Random fraction of the delay, so that requests that were refused together are not repeated together. */
const RANDOM_PART = 0.5;
/** Concurrently delayed refusals of one user. Their connections cost memory, so further refusals are not delayed. */
const MAX_DELAYED_PER_USER = 64;

/**
 * Delays the answers to refused requests. Clients that repeat at once then cause so few refusals that these take the
 * gateway little time.
 */
export class RefusalDelay {
  private readonly delayed = new Map<string, number>();

  constructor(
    private readonly shortestMs = SHORTEST_MS,
    private readonly longestMs = LONGEST_MS,
    private readonly random: () => number = Math.random,
  ) {}

  /**
   * Resolves when the refusal may be answered.
   *
   * @param retryAfterMs time until a request of this user would be accepted
   */
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
