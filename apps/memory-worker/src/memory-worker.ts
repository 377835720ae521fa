import { newId, UnavailableError } from '@caribou/contracts';
import type { Clock, Logger, MemoryJob, MemoryJobs } from '@caribou/core';
import type { Metrics } from '@caribou/observability';
import type { ThreadReading } from './thread-reading.js';

export interface MemoryWorkerOptions {
  readonly jobs: Pick<MemoryJobs, 'ready' | 'take'>;
  readonly reading: Pick<ThreadReading, 'read'>;
  readonly metrics: Pick<Metrics, 'memoryDue'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Threads read at once. */
  readonly slots: number;
  /** Longest time between two looks at what is due while something is. */
  readonly lookMs: number;
  /** The same while nothing is due; a nudge ends it. */
  readonly idleMs: number;
  /** 0 ≤ value < 1; spreads the workers' looks. */
  readonly random?: () => number;
}

/** Before another look when what was ready went to other workers. */
const CONTENDED_MS = 50;

/**
 * Takes threads that have been quiet for long enough, longest waiting first, while a slot is free. There is no timer per
 * thread: one look at what is due tells when the next look is worth it.
 */
export class MemoryWorker {
  private readonly ownerId = newId();
  private readonly stopping = new AbortController();
  /** Ends readings that did not come to their end within the grace time. */
  private readonly cutting = new AbortController();
  private readonly running = new Set<Promise<void>>();
  private resting: { readonly wake: AbortController; readonly idle: boolean } | undefined;
  /** Woken while not at rest: the next rest is left out. */
  private woken = false;
  private loop: Promise<void> | undefined;

  constructor(private readonly options: MemoryWorkerOptions) {}

  start(): void {
    this.loop = this.run();
  }

  /** Something was said: looks at once if nothing was due, and when it is due otherwise. */
  nudge(): void {
    if (this.resting === undefined || this.resting.idle) this.wake();
  }

  /** Takes nothing new, lets readings end within `graceMs`, gives the others back. */
  async drain(graceMs: number): Promise<void> {
    this.stopping.abort();
    this.wake();
    await this.loop;
    const timer = setTimeout(() => this.cutting.abort(new Error('the memory-worker stops')), graceMs);
    await Promise.all(this.running);
    clearTimeout(timer);
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        const { ms, idle } = await this.look();
        await this.rest(ms, idle);
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error;
        this.options.logger.warn({ event: 'memory.sweep', outcome: 'error', error }, 'what is due was not looked at');
        await this.rest(this.options.lookMs, false);
      }
    }
  }

  /** Fills free slots; answers how long nothing more can be done. */
  private async look(): Promise<{ readonly ms: number; readonly idle: boolean }> {
    const { jobs, slots, lookMs, idleMs, metrics, random = Math.random } = this.options;
    const free = slots - this.running.size;
    // A reading that ends wakes the loop.
    if (free <= 0) return { ms: lookMs, idle: false };
    const { jobs: found, nextInMs, due } = await jobs.ready(free);
    metrics.memoryDue(due);
    let taken = 0;
    for (const key of found) {
      if (this.stopping.signal.aborted) break;
      const sentMs = this.options.clock.monotonicMs();
      const job = await jobs.take(key, this.ownerId);
      if (job === null) continue;
      taken += 1;
      this.begin(job, sentMs);
    }
    if (found.length > 0) return { ms: taken > 0 ? 0 : CONTENDED_MS * (0.5 + random()), idle: false };
    const restMs = nextInMs === null ? idleMs : lookMs;
    return { ms: Math.min(nextInMs ?? idleMs * 2, restMs * (0.5 + random())), idle: nextInMs === null };
  }

  private begin(job: MemoryJob, takenMs: number): void {
    const reading = this.readOne(job, takenMs).finally(() => {
      this.running.delete(reading);
      this.wake();
    });
    this.running.add(reading);
  }

  /** A defect costs its thread a lease time, and never the worker. */
  private async readOne(job: MemoryJob, takenMs: number): Promise<void> {
    try {
      await this.options.reading.read(job, this.cutting.signal, takenMs);
    } catch (error) {
      const { userId, threadId } = job.lease;
      this.options.logger.error({ event: 'memory.read', outcome: 'error', userId, threadId, error }, 'reading broke');
    }
  }

  private async rest(ms: number, idle: boolean): Promise<void> {
    const wake = new AbortController();
    if (this.woken) wake.abort();
    this.woken = false;
    this.resting = { wake, idle };
    try {
      await this.options.clock.sleep(ms, wake.signal);
    } catch (error) {
      if (!wake.signal.aborted) throw error;
    } finally {
      this.resting = undefined;
    }
  }

  private wake(): void {
    if (this.resting === undefined) this.woken = true;
    else this.resting.wake.abort();
  }
}
