import { monitorEventLoopDelay } from 'node:perf_hooks';
import { UnavailableError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';

export interface LoopLagOptions {
  /** Lag in milliseconds above which new runs are refused; 0: never. */
  readonly maxMs: number;
  readonly logger: Logger;
  /** How often the lag is read, default 1 s. */
  readonly everyMs?: number;
}

/** How often the event loop is asked to run a timer. */
const SAMPLE_MS = 50;
const NANOSECONDS_PER_MS = 1e6;

/**
 * Measures how late the event loop of this process runs its timers, so that an overloaded gateway starts no more runs
 * and serves what it has accepted. The lag is the 99th percentile of a second, or the delay of the reading itself. It counts
 * only after two seconds in a row, so that a single stall, such as that of a garbage collection, refuses nothing.
 */
export class LoopLagWatch {
  private readonly delays = monitorEventLoopDelay({ resolution: SAMPLE_MS });
  private readonly timer: NodeJS.Timeout | undefined;
  private readonly everyMs: number;
  private readAtMs = performance.now();
  private lastMs = 0;
  private lagMs = 0;

  constructor(private readonly options: LoopLagOptions) {
    this.everyMs = options.everyMs ?? 1_000;
    if (options.maxMs === 0) return;
    this.delays.enable();
    this.timer = setInterval(() => this.read(), this.everyMs).unref();
  }

  /** @throws {UnavailableError} while the event loop runs too late */
  assertResponsive(): void {
    if (!this.isOverloaded()) return;
    throw new UnavailableError(
      `this gateway is overloaded and starts no runs: its event loop is ${Math.round(this.lagMs)} ms late`,
      { details: { refusal: 'overloaded', noEffect: true, shown: { reason: 'overloaded' } } },
    );
  }

  stop(): void {
    clearInterval(this.timer);
    this.delays.disable();
  }

  private read(): void {
    const wasOverloaded = this.isOverloaded();
    const nowMs = performance.now();
    // An empty histogram answers with a percentile that was not measured.
    const p99Ms = this.delays.count === 0 ? 0 : this.delays.percentile(99) / NANOSECONDS_PER_MS - SAMPLE_MS;
    const lateMs = Math.max(0, p99Ms, nowMs - this.readAtMs - this.everyMs);
    this.delays.reset();
    this.readAtMs = nowMs;
    this.lagMs = Math.min(this.lastMs, lateMs);
    this.lastMs = lateMs;
    if (this.isOverloaded() !== wasOverloaded) this.log();
  }

  private isOverloaded(): boolean {
    const { maxMs } = this.options;
    return maxMs > 0 && this.lagMs > maxMs;
  }

  private log(): void {
    const overloaded = this.isOverloaded();
    this.options.logger.warn(
      { event: 'event_loop.lag', outcome: overloaded ? 'limit' : 'ok', durationMs: Math.round(this.lagMs) },
      overloaded ? 'the event loop is overloaded: new runs are refused' : 'the event loop has time: runs are accepted',
    );
  }
}
