import { FencedError } from '@caribou/contracts';
import type { Clock } from '@caribou/core';

export interface BackgroundPublicationOptions {
  readonly clock: Clock;
  /** A failed attempt, which is repeated. */
  readonly onError: (error: unknown) => void;
  /** Everything is stored, or nothing more is attempted. */
  readonly onEnd: () => void;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;

/** Stores what a call could not wait for; repeated until it succeeds, is stopped, or the thread belongs to another manager. */
export class BackgroundPublication {
  private readonly stopping = new AbortController();
  private isWanted = false;
  private isOver = false;
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly options: BackgroundPublicationOptions) {}

  /**
   * @param first the publication that is already prepared
   * @param again a publication of everything that has changed by then
   */
  start(first: () => Promise<void>, again: () => Promise<void>): void {
    this.running = this.run(first, again).finally(() => {
      this.isOver = true;
      this.options.onEnd();
    });
  }

  /** More has changed: another publication follows the one under way. False when it is too late for that. */
  repeat(): boolean {
    this.isWanted = true;
    return !this.isOver;
  }

  /** Whether another publication follows the one under way. */
  get isRepeated(): boolean {
    return this.isWanted;
  }

  stop(): void {
    this.stopping.abort();
  }

  /** Resolves when nothing is under way any more. */
  settled(): Promise<void> {
    return this.running;
  }

  private async run(first: () => Promise<void>, again: () => Promise<void>): Promise<void> {
    const { clock, onError } = this.options;
    const { signal } = this.stopping;
    let publish = first;
    for (let delayMs = FIRST_RETRY_MS; !signal.aborted; ) {
      this.isWanted = false;
      try {
        await publish();
        if (!this.isWanted) {
          this.isOver = true;
          return;
        }
        delayMs = FIRST_RETRY_MS;
      } catch (error) {
        onError(error);
        if (error instanceof FencedError) return;
        await clock.sleep(delayMs, signal).catch((reason: unknown) => {
          if (!signal.aborted) throw reason;
        });
        delayMs = Math.min(2 * delayMs, LONGEST_RETRY_MS);
      }
      publish = again;
    }
  }
}
