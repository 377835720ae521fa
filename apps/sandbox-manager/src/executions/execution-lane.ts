import { RateLimitedError } from '@caribou/contracts';

/** Runs work one at a time in the order it came; a bounded number waits. */
export class ExecutionLane {
  private last: Promise<unknown> = Promise.resolve();
  private count = 0;

  constructor(private readonly maxWaiting: number) {}

  get busy(): boolean {
    return this.count > 0;
  }

  /** The result of `work`, begun when all earlier work has settled. @throws {RateLimitedError} when too many wait */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.count > this.maxWaiting) {
      throw new RateLimitedError(`more than ${this.maxWaiting} commands wait for this sandbox`, {
        details: { retryAfterMs: 1000 },
      });
    }
    this.count += 1;
    const turn = this.last.then(work);
    this.last = turn.then(
      () => undefined,
      () => undefined,
    );
    try {
      return await turn;
    } finally {
      this.count -= 1;
    }
  }
}
