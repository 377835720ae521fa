import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

/** How often the event loop is asked to run a timer. */
const SAMPLE_MS = 50;
const NANOSECONDS_PER_MS = 1e6;

/** How late the event loop ran its timers, in milliseconds. */
export interface MeasuredLag {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Measures the lag of the event loop of this process from one reading to the next; the first one begins it. */
export class LoopLag {
  private delays: IntervalHistogram | undefined;

  /** The lag since the last reading; undefined at the first one. */
  read(): MeasuredLag | undefined {
    const { delays } = this;
    if (delays === undefined) {
      this.delays = monitorEventLoopDelay({ resolution: SAMPLE_MS });
      this.delays.enable();
      return undefined;
    }
    // An empty histogram answers with its greatest value.
    const late = (ns: number): number => (delays.count === 0 ? 0 : Math.max(0, ns / NANOSECONDS_PER_MS - SAMPLE_MS));
    const measured = { p50: late(delays.percentile(50)), p99: late(delays.percentile(99)), max: late(delays.max) };
    delays.reset();
    return measured;
  }

  /** Ends the measurement; the next reading begins another one. */
  stop(): void {
    this.delays?.disable();
    this.delays = undefined;
  }
}
