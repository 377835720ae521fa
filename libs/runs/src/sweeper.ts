import type { Wakes } from '@caribou/bus';
import { UnavailableError } from '@caribou/contracts';
import type { Clock, Logger, ThreadKey } from '@caribou/core';
import type { DeadLetter, RunStore, UnownedThread } from '@caribou/state';

/** Maximum number of threads that one read of the store returns. */
const MAX_PER_LOOK = 500;
/** Maximum number of reads in one sweep, as long as each finds only threads without a wake. */
const MAX_LOOKS = 20;
/** Maximum number of dead letters that one sweep copies. */
const MAX_LETTERS = 20;
/** Maximum number of threads of one sweep whose stored wake is checked; the oldest are first. */
const MAX_CHECKS = 20;
/** Default of the time without wakes after which threads are claimed directly, in milliseconds. */
const POLL_AFTER_MS = 5_000;
/** Mean time between two sweeps while wakes do not arrive, in milliseconds. */
const POLL_MS = 1_000;
/**
 * Number of sweeps after which a thread without an owner gets a new wake, and then as many until it is claimed
 * directly.
 */
const PATIENT_SWEEPS = 3;

/** The worker that executes runs of threads. */
export interface DirectWorker {
  /**
   * Starts to work on a thread without a wake; a pool may start with another thread that is next in its order.
   * @returns false when no slot is free
   */
  take(thread: UnownedThread): boolean;
  /** Milliseconds since wakes can no longer be received; 0 while they are. */
  readonly failingMs: number;
}

export interface SweeperOptions {
  readonly store: Pick<RunStore, 'listUnowned' | 'listDeadLetters' | 'removeDeadLetter'>;
  readonly wakes: Pick<Wakes, 'publish' | 'replaceLost'>;
  readonly worker: DirectWorker;
  /** Copies a dead letter to the bus; repeated copies count once. @throws {UnavailableError} */
  readonly deadLetter: (id: string, entry: DeadLetter['entry']) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Milliseconds for which a lease must be absent before its run is taken over: an owner whose lease expired by a jump
   * of the clock renews it.
   */
  readonly graceMs: number;
  /** Mean time between two sweeps of this process, in milliseconds. */
  readonly sweepMs: number;
  /** Milliseconds without wakes after which threads are claimed directly; default 5 s. */
  readonly pollAfterMs?: number;
  /** Random number, 0 ≤ value < 1, which spreads the sweeps of several processes. */
  readonly random?: () => number;
}

/**
 * Finds threads that have pending runs and no owner.
 *
 * S1 A thread whose run was started is taken over after `graceMs`, if this process has a free slot.
 * S2 Every other one gets a wake, as a crash between record and publish, or a lost stream, may have left it without
 *    one. A superfluous wake finds nothing to do.
 * S3 A thread that has no owner over several sweeps gets a new wake instead of one that was lost in the stream, and is
 *    claimed directly when that does not help. So no state of JetStream can block a thread.
 * S4 While wakes cannot be published or received for 5 seconds, threads are claimed directly as slots become free.
 */
export class Sweeper {
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;
  /** When each of the oldest threads was first found without an owner, by the monotonic clock. */
  private seen = new Map<string, number>();
  /** Since when the bus accepts no wakes, by the monotonic clock. */
  private refusedSinceMs: number | undefined;
  private polling = false;
  /** Whether the last sweep found a run that can be taken over soon. */
  private mayTakeOver = false;
  /** Number of stored wakes that this sweep may still check. */
  private checksLeft = 0;
  /** Rank at which the next read beyond the oldest threads begins. */
  private cursor = 0;

  constructor(private readonly options: SweeperOptions) {}

  start(): void {
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  /** Performs one sweep. @throws {UnavailableError} when store or bus are unavailable for a part of it */
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

  /** Whether the thread needs no wake: it is being claimed, or its owner may return. */
  private isHandled(thread: UnownedThread, waitedMs: number): boolean {
    const { worker, sweepMs, graceMs } = this.options;
    if (thread.interrupted && waitedMs < graceMs) {
      this.mayTakeOver = true;
      return true;
    }
    const isDue = thread.interrupted || (this.polling && waitedMs > 0) || waitedMs > 2 * PATIENT_SWEEPS * sweepMs;
    return isDue && worker.take(thread);
  }

  /** Whether the bus accepted the wake, or already had one. */
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

  /**
   * Wakes threads beyond the oldest, page by page over several sweeps; continues while no thread of a page had a wake.
   */
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

  /** Copies dead letters to the bus; each remains in the store until the bus has it. */
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

  /** Returns for how many milliseconds wakes have not been published or received. */
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
