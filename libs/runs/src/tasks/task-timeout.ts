import type { RunRecord } from '@caribou/contracts';
import type { Clock } from '@caribou/core';

/** A pool ends a task at its time limit; the parent stops waiting this much later. */
const GRACE_MS = 60_000;

/** Limits the wait for a task: first the time in the queue, and once a pool has it, its own time limit and a grace period. */
export class TaskTimeout {
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  hasStarted = false;
  limitMs: number;

  constructor(
    { clock, maxQueueMs }: { readonly clock: Clock; readonly maxQueueMs: number },
    private readonly record: RunRecord,
  ) {
    this.limitMs = maxQueueMs;
    if (record.started_at === null) this.arm(maxQueueMs - (clock.now() - Date.parse(record.created_at)));
    else this.onStarted(clock.now() - Date.parse(record.started_at));
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** A pool started the task `elapsedMs` ago. */
  onStarted(elapsedMs = 0): void {
    if (this.hasStarted) return;
    this.hasStarted = true;
    this.limitMs = (this.record.kwargs.timeout_ms ?? 0) + GRACE_MS;
    this.arm(this.limitMs - elapsedMs);
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private arm(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.controller.abort(new Error('the task took too long')), Math.max(0, ms));
    this.timer.unref();
  }
}
