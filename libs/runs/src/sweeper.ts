import type { Wakes } from '@caribou/bus';
import { UnavailableError } from '@caribou/contracts';
import type { Clock, Logger, RunStore } from '@caribou/core';

/** Most wakes one sweep publishes; the rest waits for the next. */
const MAX_PER_SWEEP = 500;

export interface SweeperOptions {
  readonly store: Pick<RunStore, 'listUnowned'>;
  readonly wakes: Pick<Wakes, 'publish'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Mean time between two sweeps of this runner. */
  readonly sweepMs: number;
  /** 0 ≤ value < 1; spreads the runners' sweeps. */
  readonly random?: () => number;
}

/**
 * Publishes the wakes of threads that have something to run and nobody running it: what a crash between record and
 * publish, or a lost stream, would otherwise leave lying. A wake too many finds nothing to do.
 */
export class Sweeper {
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;

  constructor(private readonly options: SweeperOptions) {}

  start(): void {
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  /** One sweep; answers how many wakes it published. */
  async sweep(): Promise<number> {
    const threads = await this.options.store.listUnowned(MAX_PER_SWEEP);
    for (const thread of threads) {
      if (this.stopping.signal.aborted) break;
      await this.options.wakes.publish(thread);
    }
    return threads.length;
  }

  private async run(): Promise<void> {
    const { clock, sweepMs, logger, random = Math.random } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        await clock.sleep(sweepMs * (0.5 + random()), signal);
        await this.sweep();
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof UnavailableError)) throw error;
        logger.warn({ event: 'inbox.sweep', outcome: 'error', error }, 'sweep left out');
      }
    }
  }
}
