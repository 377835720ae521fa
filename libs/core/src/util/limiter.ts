export interface LimiterOptions {
  readonly maxRunning: number;
  readonly maxWaiting: number;
  /** The error for work that arrives while the queue is full. */
  readonly errorWhenFull: () => Error;
}

/** Runs at most `maxRunning` works at a time and queues at most `maxWaiting`, in the order they come. */
export class Limiter {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly options: LimiterOptions) {}

  /** The result of `work`. @throws `errorWhenFull()` when the queue is full */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.running < this.options.maxRunning) this.running += 1;
    else await this.wait();
    try {
      return await work();
    } finally {
      // The next in the queue gets the slot directly, so that no newcomer can take it first.
      const next = this.waiting.shift();
      if (next === undefined) this.running -= 1;
      else next();
    }
  }

  private wait(): Promise<void> {
    if (this.waiting.length >= this.options.maxWaiting) throw this.options.errorWhenFull();
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}
