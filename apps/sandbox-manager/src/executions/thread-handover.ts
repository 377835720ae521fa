import { AppError, NotFoundError, UnavailableError } from '@caribou/contracts';
import { type Clock, type Logger, type SandboxRegistry, settlesWithin, type ThreadKey } from '@caribou/core';
import type { SandboxPool } from './sandbox-pool.js';

export interface ThreadHandoverOptions {
  readonly managerId: string;
  readonly pool: Pick<SandboxPool, 'giveUp'>;
  readonly registry: Pick<SandboxRegistry, 'giveBack'>;
  /** Whether executions of the thread run or wait. */
  readonly isBusy: (thread: ThreadKey) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The longest time for which a caller is held until the thread is given back: less than it waits for a reply. */
const HOLD_MS = 20_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 10_000;

const keyOf = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;

/**
 * Gives the threads of a stopping manager back, so that other managers have their next commands while commands of other threads still run
 * here.
 *
 *  H1  A thread is given back when nothing of it runs or waits here, its sandbox is removed, and its files are stored. Until then its
 *      binding names this manager, so no other one begins anything.
 *  H2  A caller that asks for a thread which is not busy is answered when the thread was given back, with an error by which it turns to
 *      the next manager at once; nothing was started for it.
 *  H3  What cannot be given back, because the store or the driver does not answer, is tried again until the manager has stopped; then the
 *      released lease of the manager has the same effect.
 */
export class ThreadHandover {
  private readonly underWay = new Map<string, Promise<void>>();
  private readonly waiting = new Map<string, (() => void)[]>();
  private readonly stopping = new AbortController();

  constructor(private readonly options: ThreadHandoverOptions) {}

  /** Gives the threads back, each as soon as it is idle. Resolves when all are, or at `stop`. Never rejects. */
  async giveAllBack(threads: readonly ThreadKey[]): Promise<void> {
    await Promise.all(threads.map((thread) => this.giveBack(thread)));
  }

  /**
   * (H2) Answers a request for a thread that this manager serves no longer.
   *
   * @throws {NotFoundError} when the thread was given back
   * @throws {UnavailableError} when that takes longer than a caller should wait; the caller asks again
   */
  async refuse(thread: ThreadKey): Promise<never> {
    const isGiven = await settlesWithin(this.giveBack(thread), HOLD_MS, this.options.clock);
    if (!isGiven || this.stopping.signal.aborted)
      throw new UnavailableError('this sandbox-manager is stopping', { details: { dependency: 'sandbox-manager' } });
    throw new NotFoundError('this sandbox-manager is stopping and has given the thread back', {
      details: { resource: 'sandbox', given_back: true },
    });
  }

  /** Called after each execution of a thread. */
  noteEnded(thread: ThreadKey): void {
    if (this.options.isBusy(thread)) return;
    const key = keyOf(thread);
    for (const resolve of this.waiting.get(key) ?? []) resolve();
    this.waiting.delete(key);
  }

  /** Gives nothing back any more. */
  stop(): void {
    this.stopping.abort();
    for (const resolve of [...this.waiting.values()].flat()) resolve();
    this.waiting.clear();
  }

  private giveBack(thread: ThreadKey): Promise<void> {
    const key = keyOf(thread);
    const known = this.underWay.get(key);
    if (known !== undefined) return known;
    const work = this.repeatUntilGiven(thread).finally(() => this.underWay.delete(key));
    this.underWay.set(key, work);
    return work;
  }

  private async repeatUntilGiven(thread: ThreadKey): Promise<void> {
    const { clock, logger } = this.options;
    const { signal } = this.stopping;
    for (let delayMs = FIRST_RETRY_MS; !signal.aborted; delayMs = Math.min(2 * delayMs, LONGEST_RETRY_MS)) {
      try {
        await this.giveBackWhenIdle(thread);
        return;
      } catch (error) {
        const level = error instanceof AppError && error.expected ? 'warn' : 'error';
        const fields = { event: 'thread.give_back', outcome: 'error', ...thread, error } as const;
        logger[level](fields, 'a thread was not given back yet');
      }
      await clock.sleep(delayMs, signal).catch((reason: unknown) => {
        if (!signal.aborted) throw reason;
      });
    }
  }

  /** (H1) */
  private async giveBackWhenIdle(thread: ThreadKey): Promise<void> {
    const { pool, registry, managerId, logger, isBusy } = this.options;
    while (isBusy(thread) && !this.stopping.signal.aborted) await this.untilIdle(thread);
    if (this.stopping.signal.aborted) return;
    await pool.giveUp(thread);
    const isGiven = await registry.giveBack(thread, managerId);
    if (isGiven) logger.info({ event: 'thread.give_back', outcome: 'ok', ...thread }, 'a thread was given back');
  }

  private untilIdle(thread: ThreadKey): Promise<void> {
    const key = keyOf(thread);
    return new Promise((resolve) => this.waiting.set(key, [...(this.waiting.get(key) ?? []), resolve]));
  }
}
