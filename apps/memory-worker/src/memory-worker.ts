import { newId, UnavailableError } from '@caribou/contracts';
import type { Clock, Logger, MemoryJob, MemoryJobKey, MemoryJobs } from '@caribou/core';
import type { Metrics } from '@caribou/observability';
import type { MemoryExtraction } from './memory-extraction.js';

export interface MemoryWorkerOptions {
  readonly jobs: Pick<MemoryJobs, 'ready' | 'orphans' | 'take'>;
  readonly extraction: Pick<MemoryExtraction, 'run'>;
  readonly metrics: Pick<Metrics, 'memoryDue'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Threads processed at once. */
  readonly slots: number;
  /** Longest time between two polls of the queue while it has jobs. */
  readonly pollMs: number;
  /** The same while the queue is empty; a notification ends it. */
  readonly idleMs: number;
  /** 0 ≤ value < 1; spreads the polls of several workers. */
  readonly random?: () => number;
}

/** Pause before the next poll when other workers took the ready jobs. */
const CONTENDED_MS = 50;

/**
 * Takes threads that have been quiet for long enough from the queue while a slot is free: of the users with the fewest
 * threads under extraction first, of those the one that waited longest. There is no timer per thread: each poll returns
 * when the next job is due.
 */
export class MemoryWorker {
  private readonly ownerId = newId();
  private readonly stopping = new AbortController();
  /** Aborts extractions that do not end within the grace time of a drain. */
  private readonly aborting = new AbortController();
  private readonly running = new Set<Promise<void>>();
  private sleeping: { readonly end: AbortController; readonly idle: boolean } | undefined;
  /** The loop was asked to poll while it did not sleep; it then skips the next sleep. */
  private skipSleep = false;
  private loop: Promise<void> | undefined;

  constructor(private readonly options: MemoryWorkerOptions) {}

  /** How many threads are under extraction. */
  get size(): number {
    return this.running.size;
  }

  start(): void {
    this.loop = this.run();
  }

  /** A thread was queued: polls at once if the queue was empty, otherwise at the planned time. */
  notify(): void {
    if (this.sleeping === undefined || this.sleeping.idle) this.pollNow();
  }

  /** Takes no new jobs, waits up to `graceMs` for running extractions, and returns the others to the queue. */
  async drain(graceMs: number): Promise<void> {
    this.stopping.abort();
    this.pollNow();
    await this.loop;
    const timer = setTimeout(() => this.aborting.abort(new Error('the memory-worker stops')), graceMs);
    await Promise.all(this.running);
    clearTimeout(timer);
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        const { ms, idle } = await this.poll();
        await this.sleep(ms, idle);
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error;
        this.options.logger.warn({ event: 'memory.sweep', outcome: 'error', error }, 'polling the memory queue failed');
        await this.sleep(this.options.pollMs, false);
      }
    }
  }

  /** Fills free slots; returns how long to sleep. */
  private async poll(): Promise<{ readonly ms: number; readonly idle: boolean }> {
    const { jobs, slots, pollMs, idleMs, metrics, random = Math.random } = this.options;
    const free = slots - this.running.size;
    // The end of an extraction starts the next poll.
    if (free <= 0) return { ms: pollMs, idle: false };
    const { jobs: found, nextInMs, due } = await jobs.ready(free);
    metrics.memoryDue(due);
    let taken = 0;
    for (const key of found) {
      if (this.stopping.signal.aborted) break;
      if (await this.take(key)) taken += 1;
    }
    if (found.length > 0) return { ms: taken > 0 ? 0 : CONTENDED_MS * (0.5 + random()), idle: false };
    const maxMs = nextInMs === null ? idleMs : pollMs;
    return { ms: Math.min(nextInMs ?? idleMs * 2, maxMs * (0.5 + random())), idle: nextInMs === null };
  }

  /** Takes over jobs of processes that died, as far as slots are free. Never rejects. */
  async takeOver(dead: readonly string[]): Promise<void> {
    const { jobs, slots, logger } = this.options;
    try {
      for (const key of await jobs.orphans(dead)) {
        if (this.stopping.signal.aborted || this.running.size >= slots) return;
        await this.take(key);
      }
    } catch (error) {
      const fields = { event: 'orphans.take_over', outcome: 'error', error };
      if (error instanceof UnavailableError) logger.warn(fields, 'jobs of a dead process not taken over yet');
      else logger.error(fields, 'jobs of a dead process not taken over because of a defect');
    }
  }

  private async take(key: MemoryJobKey): Promise<boolean> {
    const sentMs = this.options.clock.monotonicMs();
    const job = await this.options.jobs.take(key, this.ownerId);
    if (job !== null) this.startJob(job, sentMs);
    return job !== null;
  }

  private startJob(job: MemoryJob, takenMs: number): void {
    const extraction = this.runExtraction(job, takenMs).finally(() => {
      this.running.delete(extraction);
      this.pollNow();
    });
    this.running.add(extraction);
  }

  /** Logs unexpected errors: they delay the thread until its lease lapses, and do not end the worker. */
  private async runExtraction(job: MemoryJob, takenMs: number): Promise<void> {
    try {
      await this.options.extraction.run(job, this.aborting.signal, takenMs);
    } catch (error) {
      const { userId, threadId } = job.lease;
      this.options.logger.error(
        { event: 'memory.read', outcome: 'error', userId, threadId, error },
        'memory extraction failed unexpectedly',
      );
    }
  }

  private async sleep(ms: number, idle: boolean): Promise<void> {
    const end = new AbortController();
    if (this.skipSleep) end.abort();
    this.skipSleep = false;
    this.sleeping = { end, idle };
    try {
      await this.options.clock.sleep(ms, end.signal);
    } catch (error) {
      if (!end.signal.aborted) throw error;
    } finally {
      this.sleeping = undefined;
    }
  }

  private pollNow(): void {
    if (this.sleeping === undefined) this.skipSleep = true;
    else this.sleeping.end.abort();
  }
}
