import type { Clock } from '@caribou/core';

/** Appends of one run take at most this share of its time; a slower store gets fewer and longer ones. */
const APPENDING_SHARE = 0.1;
/** The window never grows beyond this number of milliseconds. */
const MAX_WINDOW_MS = 1_000;
/** Weight of the newest append in the average of their latencies. */
const NEWEST_WEIGHT = 0.2;

/**
 * Decides when a run's next append may begin: the first at once, then one in each window. The window grows with the
 * latency of the store, up to a second.
 */
export class FlushWindow {
  private latencyMs = 0;
  private begunMs = Number.NEGATIVE_INFINITY;

  /** @param baseMs the window while the store is fast; 0: appends follow each other without a pause */
  constructor(
    private readonly baseMs: number,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  get isOpenAlways(): boolean {
    return this.baseMs === 0;
  }

  /** Milliseconds until the next append may begin; 0: now. */
  get waitMs(): number {
    if (this.isOpenAlways) return 0;
    const grown = Math.min(this.latencyMs / APPENDING_SHARE, MAX_WINDOW_MS);
    return Math.max(0, this.begunMs + Math.max(this.baseMs, grown) - this.clock.monotonicMs());
  }

  begin(): void {
    this.begunMs = this.clock.monotonicMs();
  }

  end(): void {
    const newest = this.clock.monotonicMs() - this.begunMs;
    this.latencyMs += (newest - this.latencyMs) * NEWEST_WEIGHT;
  }
}
