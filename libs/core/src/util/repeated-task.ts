import type { Clock } from './clock.js';

export interface RepeatedTaskOptions {
  readonly clock: Pick<Clock, 'sleep'>;
  /** Pause between the end of one run of the work and the next run, in milliseconds. */
  readonly everyMs: number;
  /** The same after a run that has failed; `everyMs` when absent. */
  readonly retryMs?: number;
  /** Gets a signal that aborts when the task is stopped. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** Called with what the work has thrown; the work is then repeated. What this function throws ends the task. */
  readonly onFailure: (error: unknown) => void;
}

/** Does some work again and again, with pauses, until it is stopped. Two runs of the work never overlap. */
export class RepeatedTask {
  private readonly stopping = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly options: RepeatedTaskOptions) {}

  /** Begins the first run of the work now. */
  start(): void {
    this.loop = this.repeat();
  }

  /** Ends the repetition; resolves when the current run has finished. @throws what `onFailure` has thrown */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  private async repeat(): Promise<void> {
    const { clock, everyMs, retryMs = everyMs, work, onFailure } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      let pauseMs = everyMs;
      try {
        await work(signal);
      } catch (error) {
        onFailure(error);
        pauseMs = retryMs;
      }
      await clock.sleep(pauseMs, signal).catch((reason: unknown) => {
        if (!signal.aborted) throw reason;
      });
    }
  }
}
