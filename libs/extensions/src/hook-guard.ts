import { ExtensionError } from '@caribou/contracts';
import type { RunContext } from '@caribou/core';
import { describeSource, logFieldsOf, type Speaker } from './given-step.js';

/**
 * Guards a call of custom code: a signal that aborts with the run or at the deadline, and a way to call the product
 * without using up time.
 */
export interface Guard {
  readonly signal: AbortSignal;
  /**
   * Runs work of the product for custom code: its time does not count, and its errors are not attributed to the custom
   * code. Refused after the hook has ended.
   */
  outside<T>(work: () => Promise<T>): Promise<T>;
}

export interface GuardOptions {
  readonly speaker: Speaker;
  readonly run: RunContext;
  readonly timeoutMs: number;
  /** Converts an error of the custom code. */
  readonly toFailure: (error: unknown) => unknown;
  /** Creates the error for a missed deadline. */
  readonly createTimeoutError: () => Error;
}

/**
 * Runs custom code that may throw, never return, or ignore its signal: the call ends with the run's signal or at its
 * deadline at the latest. Code that blocks the process cannot be interrupted.
 *
 * @throws the run's reason when it was aborted; errors of `outside` unchanged; else the result of `toFailure` or `createTimeoutError`
 */
export async function runGuarded<T>(options: GuardOptions, work: (guard: Guard) => Promise<T>): Promise<T> {
  const { run, toFailure, speaker } = options;
  run.signal.throwIfAborted();
  const watch = new Watch(options);
  try {
    return await watch.race(work);
  } catch (error) {
    run.signal.throwIfAborted();
    if (watch.isOurs(error) || error instanceof ExtensionError) throw error;
    run.logger.error({ ...logFieldsOf(speaker), reason: speaker.place, error }, 'custom code failed');
    throw toFailure(error);
  } finally {
    watch.end();
  }
}

class Watch implements Guard {
  private readonly controller = new AbortController();
  private readonly ours = new Set<unknown>();
  private readonly pending = new Set<Promise<unknown>>();
  private readonly follow = (): void => this.controller.abort(this.options.run.signal.reason);
  private timer: NodeJS.Timeout | undefined;
  private leftMs: number;
  private startedMs = 0;
  private ended = false;

  constructor(private readonly options: GuardOptions) {
    this.leftMs = options.timeoutMs;
    options.run.signal.addEventListener('abort', this.follow, { once: true });
    this.start();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  isOurs(error: unknown): boolean {
    return this.ours.has(error);
  }

  outside<T>(work: () => Promise<T>): Promise<T> {
    const { speaker } = this.options;
    const running = this.ended
      ? Promise.reject<T>(new ExtensionError(`${describeSource(speaker)} went on after its ${speaker.place} had ended`))
      : this.withStoppedClock(work).finally(() => this.pending.delete(running));
    if (!this.ended) this.pending.add(running);
    // Prevents an unhandled rejection, which would end the process, when nobody awaits the promise.
    running.catch(() => undefined);
    return running;
  }

  /** Settles like the work and all work it started in `outside`, or rejects with the signal's reason. */
  async race<T>(work: (guard: Guard) => Promise<T>): Promise<T> {
    const aborted = new Promise<never>((_resolve, reject) => {
      this.signal.addEventListener('abort', () => reject(this.signal.reason), { once: true });
    });
    aborted.catch(() => undefined);
    const working = work(this).then(async (result) => {
      await Promise.all(this.pending);
      return result;
    });
    working.catch(() => undefined);
    return Promise.race([working, aborted]);
  }

  end(): void {
    this.ended = true;
    clearTimeout(this.timer);
    this.options.run.signal.removeEventListener('abort', this.follow);
  }

  /** Runs work of the product with the clock stopped. */
  private async withStoppedClock<T>(work: () => Promise<T>): Promise<T> {
    if (this.pending.size === 0) this.stop();
    try {
      return await work();
    } catch (error) {
      this.ours.add(error);
      throw error;
    } finally {
      if (this.pending.size <= 1 && !this.ended) this.start();
    }
  }

  private start(): void {
    this.startedMs = this.options.run.clock.monotonicMs();
    this.timer = setTimeout(() => {
      const late = this.options.createTimeoutError();
      this.ours.add(late);
      this.controller.abort(late);
    }, this.leftMs);
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.leftMs = Math.max(0, this.leftMs - (this.options.run.clock.monotonicMs() - this.startedMs));
  }
}
