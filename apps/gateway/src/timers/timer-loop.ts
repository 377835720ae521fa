import { setTimeout as delay } from 'node:timers/promises';
import { UnavailableError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';

export interface TimerLoopOptions {
  readonly name: string;
  /** Does what is due. Returns ms until more is; null: nothing is known to be. */
  readonly tick: () => Promise<number | null>;
  /** Longest pause between two ticks in ms. */
  readonly maxPauseMs: number;
  readonly logger: Logger;
}

const MIN_PAUSE_MS = 10;
/** How long a stop waits for the tick that is under way. */
const STOP_MS = 5_000;

/** Repeats a check for due work until it is stopped. A failed tick is logged and repeated. */
export class TimerLoop {
  private readonly stopping = new AbortController();
  private pause = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly options: TimerLoopOptions) {}

  start(): void {
    this.loop = this.run();
  }

  /** Ends the current pause. */
  wake(): void {
    this.pause.abort();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.wake();
    await Promise.race([this.loop, delay(STOP_MS, undefined, { ref: false })]);
  }

  private async run(): Promise<void> {
    const { maxPauseMs } = this.options;
    while (!this.stopping.signal.aborted) {
      this.pause = new AbortController();
      const waitMs = await this.tickOrWarn();
      if (this.stopping.signal.aborted) return;
      const pauseMs = Math.max(MIN_PAUSE_MS, Math.min(waitMs ?? maxPauseMs, maxPauseMs));
      await delay(pauseMs, undefined, { signal: this.pause.signal, ref: false }).catch((reason: unknown) => {
        if (!this.pause.signal.aborted) throw reason;
      });
    }
  }

  private async tickOrWarn(): Promise<number | null> {
    const { name, tick, logger } = this.options;
    try {
      return await tick();
    } catch (error) {
      const level = error instanceof UnavailableError ? 'warn' : 'error';
      logger[level]({ event: `${name}.check`, outcome: 'error', error }, 'a check for due work failed; it is repeated');
      return null;
    }
  }
}
