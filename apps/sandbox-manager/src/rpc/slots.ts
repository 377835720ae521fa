import { RateLimitedError } from '@caribou/contracts';

/** Runs a bounded number of works at once; a bounded number waits, in the order they came. */
export class Slots {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly limits: { readonly running: number; readonly waiting: number }) {}

  /** The result of `work`. @throws {RateLimitedError} when too many wait */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.running < this.limits.running) this.running += 1;
    else await this.turn();
    try {
      return await work();
    } finally {
      // A slot goes from hand to hand, so nobody can come in between.
      const next = this.waiting.shift();
      if (next === undefined) this.running -= 1;
      else next();
    }
  }

  private turn(): Promise<void> {
    if (this.waiting.length >= this.limits.waiting) {
      throw new RateLimitedError('too many searches at once', { details: { retryAfterMs: 1000 } });
    }
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}
