import { RateLimitedError } from '@caribou/contracts';

/** A queue that runs one piece of work at a time, in the order of arrival, and bounds how many may wait. */
export class ExecutionLane {
  private last: Promise<unknown> = Promise.resolve();
  private count = 0;

  constructor(private readonly maxWaiting: number) {}

  get busy(): boolean {
    return this.count > 0;
  }

  /**
   * Begins `work` when all earlier work has settled, and returns its result.
   *
   * @throws {RateLimitedError} when too many wait
   */
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
