import type { Wakes } from '@caribou/bus';
import { UnavailableError } from '@caribou/contracts';
import type { Clock, DeadLetter, Logger, RunStore, ThreadKey, UnownedThread } from '@caribou/core';

/** Most threads one look at the store gives. */
const MAX_PER_LOOK = 500;
/** Most looks of one sweep, as long as each finds only threads without a wake. */
const MAX_LOOKS = 20;
/** Dead letters copied by one sweep. */
const MAX_LETTERS = 20;
/** Most threads of one sweep whose stored wake is looked at; the oldest are first. */
const MAX_CHECKS = 20;
/** Without wakes for this long, threads are claimed directly; default. */
const POLL_AFTER_MS = 5_000;
/** Mean time between two sweeps while wakes do not arrive. */
const POLL_MS = 1_000;
/** After this many sweeps a thread that nobody runs gets a new wake, and after so many more it is claimed directly. */
const PATIENT_SWEEPS = 3;

/** Who works on threads. */
export interface DirectWorker {
  /**
   * Begins to work on a thread without a wake; a pool may begin with another thread whose turn it is.
   * @returns false when there is no slot for it
   */
  take(thread: UnownedThread): boolean;
  /** How long wakes have not been received, in milliseconds; 0 while they are. */
  readonly failingMs: number;
}

export interface SweeperOptions {
  readonly store: Pick<RunStore, 'listUnowned' | 'listDeadLetters' | 'removeDeadLetter'>;
  readonly wakes: Pick<Wakes, 'publish' | 'replaceLost'>;
  readonly worker: DirectWorker;
  /** Copies a dead letter to the bus; twice is once. @throws {UnavailableError} */
  readonly deadLetter: (id: string, entry: DeadLetter['entry']) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a lease may be absent before its run is taken over: an owner whose lease lapsed by a clock jump renews it. */
  readonly graceMs: number;
  /** Mean time between two sweeps of this process. */
  readonly sweepMs: number;
  /** Without wakes for this long, threads are claimed directly; default 5 s. */
  readonly pollAfterMs?: number;
  /** 0 ≤ value < 1; spreads the processes' sweeps. */
  readonly random?: () => number;
}

/**
 * Finds threads that have something to run and nobody running it.
 *
 * S1 A thread whose run was begun is taken over after `graceMs`, if this process has a slot for it.
 * S2 Every other one gets a wake: what a crash between record and publish, or a lost stream, would otherwise leave
 *    waiting. A wake too many finds nothing to do.
 * S3 A thread that stays so over some sweeps gets a new wake in the place of one that was lost in the stream, and is
 *    claimed directly when that does not help. So no state of JetStream keeps a thread from running.
 * S4 While wakes cannot be published or received for 5 seconds, threads are claimed directly as slots are free.
 */
export class Sweeper {
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;
  /** When each of the oldest threads was first seen without an owner, by the monotonic clock. */
  private seen = new Map<string, number>();
  /** Since when the bus takes no wakes, by the monotonic clock. */
  private refusedSinceMs: number | undefined;
  private polling = false;
  /** The last sweep found a run that can be taken over soon. */
  private mayTakeOver = false;
  /** Stored wakes that this sweep may still look at. */
  private checksLeft = 0;
  /** Where the next look behind the oldest threads begins. */
  private cursor = 0;

  constructor(private readonly options: SweeperOptions) {}

  start(): void {
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  /** One sweep. @throws {UnavailableError} when store or bus are away for a part of it */
  async sweep(): Promise<void> {
    const { store, clock } = this.options;
    const oldest = await store.listUnowned(MAX_PER_LOOK);
    const nowMs = clock.monotonicMs();
    this.seen = new Map(oldest.map((thread) => [nameOf(thread), this.seen.get(nameOf(thread)) ?? nowMs]));
    if (oldest.length === 0) this.refusedSinceMs = undefined;
    this.checksLeft = MAX_CHECKS;
    this.mayTakeOver = false;
    let publishes = true;
    for (const thread of oldest) {
      if (this.stopping.signal.aborted) return;
      const waitedMs = nowMs - (this.seen.get(nameOf(thread)) ?? nowMs);
      if (!this.isHandled(thread, waitedMs)) publishes &&= await this.wake(thread, waitedMs);
    }
    if (publishes && oldest.length === MAX_PER_LOOK) await this.wakeOthers((oldest.at(-1)?.rank ?? 0) + 1);
    await this.copyDeadLetters();
  }

  /** Whether the thread needs no wake: it is being claimed, or its owner may come back. */
  private isHandled(thread: UnownedThread, waitedMs: number): boolean {
    const { worker, sweepMs, graceMs } = this.options;
    if (thread.interrupted && waitedMs < graceMs) {
      this.mayTakeOver = true;
      return true;
    }
    const isDue = thread.interrupted || (this.polling && waitedMs > 0) || waitedMs > 2 * PATIENT_SWEEPS * sweepMs;
    return isDue && worker.take(thread);
  }

  /** Whether the bus took the wake, or had one. */
  private async wake(thread: ThreadKey, waitedMs: number): Promise<boolean> {
    const { wakes, sweepMs, logger } = this.options;
    try {
      const outcome = await wakes.publish(thread);
      this.refusedSinceMs = undefined;
      if (outcome === 'waiting' && waitedMs > PATIENT_SWEEPS * sweepMs) await this.replaceLost(thread);
      return true;
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      this.refusedSinceMs ??= this.options.clock.monotonicMs();
      logger.warn({ event: 'inbox.sweep', outcome: 'error', error }, 'wakes not published; the next sweep tries again');
      return false;
    }
  }

  private async replaceLost(thread: ThreadKey): Promise<void> {
    const { wakes, logger } = this.options;
    const { userId, threadId } = thread;
    if (this.checksLeft <= 0) return;
    this.checksLeft -= 1;
    if (await wakes.replaceLost(thread))
      logger.warn({ event: 'wake.replace', outcome: 'ok', userId, threadId }, 'a lost wake was replaced');
  }

  /** Wakes threads behind the oldest, page by page over the sweeps; goes on while all of a page had no wake. */
  private async wakeOthers(first: number): Promise<void> {
    const { store, wakes } = this.options;
    for (let look = 0; look < MAX_LOOKS && !this.stopping.signal.aborted; look += 1) {
      const threads = await store.listUnowned(MAX_PER_LOOK, Math.max(first, this.cursor));
      let waiting = 0;
      for (const thread of threads) if ((await wakes.publish(thread)) === 'waiting') waiting += 1;
      this.cursor = threads.length < MAX_PER_LOOK ? 0 : (threads.at(-1)?.rank ?? 0) + 1;
      if (waiting > 0 || this.cursor === 0) return;
    }
  }

  /** A dead letter stays in the store until the bus has it. */
  private async copyDeadLetters(): Promise<void> {
    const { store, deadLetter } = this.options;
    for (const letter of await store.listDeadLetters(MAX_LETTERS)) {
      await deadLetter(letter.id, letter.entry);
      await store.removeDeadLetter(letter);
    }
  }

  private async run(): Promise<void> {
    const { clock, pollAfterMs = POLL_AFTER_MS, logger } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        await clock.sleep(this.pauseMs(), signal);
        this.setPolling(this.getTroubleMs() >= pollAfterMs);
        await this.sweep();
      } catch (error) {
        if (signal.aborted) return;
        const fields = { event: 'inbox.sweep', outcome: 'error', error };
        if (error instanceof UnavailableError) logger.warn(fields, 'sweep not finished, the next one tries again');
        else logger.error(fields, 'sweep not finished because of a defect');
      }
    }
  }

  private pauseMs(): number {
    const { sweepMs, graceMs, random = Math.random } = this.options;
    const meanMs = this.getTroubleMs() > 0 ? Math.min(POLL_MS, sweepMs) : sweepMs;
    const pauseMs = meanMs * (0.5 + random());
    return this.mayTakeOver ? Math.min(pauseMs, graceMs) : pauseMs;
  }

  /** How long wakes are not published or not received. */
  private getTroubleMs(): number {
    const { worker, clock } = this.options;
    const refusedMs = this.refusedSinceMs === undefined ? 0 : clock.monotonicMs() - this.refusedSinceMs;
    return Math.max(worker.failingMs, refusedMs);
  }

  private setPolling(polling: boolean): void {
    if (polling === this.polling) return;
    this.polling = polling;
    const { logger } = this.options;
    if (polling) logger.warn({ event: 'dispatch.poll', outcome: 'on' }, 'no wakes: threads are claimed from the store');
    else logger.info({ event: 'dispatch.poll', outcome: 'off' }, 'wakes arrive again');
  }
}

const nameOf = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;
