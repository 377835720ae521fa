import { setTimeout as sleep } from 'node:timers/promises';

const DELAY_MS = 500;
/** Delayed refusals of one user at once; the connections behind them cost memory, so more are answered at once. */
const MAX_DELAYED_PER_USER = 64;

/**
 * Holds a refused request back before its answer. Clients that repeat at once get so few answers that refusing them
 * takes the gateway little time, and leaves it to other users.
 */
export class RefusalDelay {
  private readonly delayed = new Map<string, number>();

  constructor(private readonly delayMs = DELAY_MS) {}

  /** Resolves when the refusal may be answered. */
  async pass(userId: string): Promise<void> {
    const count = this.delayed.get(userId) ?? 0;
    if (count >= MAX_DELAYED_PER_USER) return;
    this.delayed.set(userId, count + 1);
    try {
      await sleep(this.delayMs, undefined, { ref: false });
    } finally {
      const left = (this.delayed.get(userId) ?? 1) - 1;
      if (left > 0) this.delayed.set(userId, left);
      else this.delayed.delete(userId);
    }
  }
}
