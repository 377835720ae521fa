import type { Handoffs, Offer, OfferAnswer, OfferIntake, Wake, WakePull, Wakes } from '@caribou/bus';
import { omitUndefined, UnavailableError } from '@caribou/contracts';
import type { Logger, ThreadKey } from '@caribou/core';
import type { ClaimResult, TurnQueue, UnownedThread } from '@caribou/state';
import type { Metrics } from '@caribou/observability';
import type { Handling, RunExecutor, TakenOffer } from './run-executor.js';
import type { RunRegistry } from './run-registry.js';
import type { DirectWorker } from './sweeper.js';

export interface TurnWorkerOptions {
  readonly wakes: Pick<Wakes, 'pull' | 'publish'>;
  readonly handoffs: Pick<Handoffs, 'takeOffers'>;
  readonly queue: Pick<TurnQueue, 'take'>;
  readonly executor: Pick<RunExecutor, 'handle'>;
  readonly registry: Pick<RunRegistry, 'drain'>;
  readonly metrics: Pick<Metrics, 'redelivered'>;
  readonly logger: Logger;
  /** Maximum number of concurrent runs. */
  readonly slots: number;
  /** Runs beyond `slots` that may be taken over while all slots are in use. */
  readonly takeoverSlots: number;
}

/** What a slot is first used for: a thread, the next one of the queue, or nothing. */
type FirstThread = () => Promise<ThreadKey | null>;

/**
 * Executes runs, each in a slot of this process.
 *
 * W1 While nothing waits, a gateway offers a run directly. A process that was full takes no offers before it knows that the queue
 *    was empty since: so nobody gets a slot before those who wait. The end of each of its runs says so.
 * W2 A wake says that a thread may wait, and is acknowledged at once. The store decides which thread is next, for all runners
 *    together, and a slot that becomes free is used for it without a wake while threads may wait.
 * W3 Runs that a process left are resumed before others, beyond the slots too.
 * W4 After a crash, or when a wake or an offer is lost, the sweep of any runner finds the thread.
 */
export class TurnWorker implements DirectWorker {
  private pull: WakePull | undefined;
  private offers: OfferIntake | undefined;
  private free: number;
  /** Whether threads may wait of which no wake will tell this process. */
  private mayWait = true;
  /** Runs in takeover slots. */
  private readonly takeovers = new Set<Promise<void>>();
  private draining = false;

  constructor(private readonly options: TurnWorkerOptions) {
    this.free = options.slots;
  }

  start(): void {
    const { wakes, handoffs, slots } = this.options;
    this.offers = handoffs.takeOffers((offer) => this.accept(offer));
    this.pull = wakes.pull({
      slots,
      handle: (wake) => this.handle(wake),
      onSlots: (free) => this.noteFree(free),
    });
    this.pull.occupy(() => this.work(() => this.next()));
  }

  get failingMs(): number {
    return this.pull?.failingMs ?? 0;
  }

  /** Starts with the thread where its run was interrupted, else with the one that is next in the order of the store. */
  take(thread: UnownedThread): boolean {
    if (this.draining || this.pull === undefined) return false;
    if (!thread.interrupted) return this.pull.occupy(() => this.work(() => this.next(thread)));
    return this.pull.occupy(() => this.work(() => Promise.resolve(thread))) || this.takeOver(thread);
  }

  /** Accepts no further runs, waits up to `graceMs` for running turns to reach a commit, then hands them over. */
  async drain(graceMs: number): Promise<void> {
    this.draining = true;
    this.noteFree(this.free);
    this.pull?.stop();
    await this.options.registry.drain(graceMs);
    await this.pull?.idle();
    await Promise.all(this.takeovers);
  }

  private noteFree(free: number): void {
    this.free = free;
    if (free === 0) this.mayWait = true;
    if (this.draining) this.offers?.open(false);
    else if (free > 0 && !this.mayWait) this.offers?.open(true);
  }

  private async handle(wake: Wake): Promise<void> {
    if (wake.redelivered) this.options.metrics.redelivered();
    const acknowledged = wake.ack();
    await this.work(() => this.next(wake));
    await acknowledged;
  }

  /**
   * Whether a slot was free and the thread was claimed, or has nothing to run. A process without a free slot refuses the first offer
   * and then gets no more; it does not stop to take offers before that, as its next slot may be free when the next one arrives.
   */
  private accept({ thread, run: offered }: Offer): Promise<OfferAnswer> {
    return new Promise((resolve) => {
      const isAdmitted = offered?.admission === undefined;
      const onClaimed: TakenOffer['onClaimed'] = (claimed) => resolve(answerTo(claimed, isAdmitted));
      const run = async (): Promise<void> => {
        try {
          await this.work(() => Promise.resolve(thread), { run: offered, onClaimed });
        } finally {
          // Without effect once the claim was answered; a gateway does not wait for one that failed.
          resolve({ taken: false });
        }
      };
      const isStarted = !this.draining && !this.mayWait && this.pull?.occupy(run) === true;
      if (isStarted) return;
      this.offers?.open(false);
      resolve({ taken: false });
    });
  }

  /** Executes runs in one slot, as long as there is one for it. @param offer of the first, when it was offered */
  private async work(first: FirstThread, offer?: TakenOffer): Promise<void> {
    const { executor } = this.options;
    try {
      let thread = await first();
      for (let ofThis = offer; thread !== null; ofThis = undefined) {
        const handling: Handling = await executor.handle(thread, ofThis);
        thread = await this.nextAfter(thread, handling);
      }
    } catch (error) {
      this.noteUnavailable(error);
    }
  }

  private async nextAfter(thread: ThreadKey, handling: Handling): Promise<ThreadKey | null> {
    const leaves = handling.kind === 'handed_over' || this.draining;
    if (leaves && mayHaveMore(handling)) await this.options.wakes.publish(thread);
    if (leaves) return null;
    if (mayHaveMore(handling)) return this.next(thread);
    if (handling.kind === 'ack' && handling.queueIsEmpty) this.mayWait = false;
    return this.mayWait ? this.next() : null;
  }

  /** The thread that is next for a slot. @param waiting one that may wait without being in the queue */
  private async next(waiting?: ThreadKey): Promise<ThreadKey | null> {
    if (this.draining) return null;
    const thread = await this.options.queue.take(waiting);
    if (thread === null) this.mayWait = false;
    return thread;
  }

  private takeOver(thread: ThreadKey): boolean {
    if (this.takeovers.size >= this.options.takeoverSlots) return false;
    const running = this.resume(thread)
      .catch((error: unknown) => {
        this.options.logger.error({ event: 'turn.take_over', outcome: 'error', error }, 'a takeover failed');
      })
      .finally(() => this.takeovers.delete(running));
    this.takeovers.add(running);
    return true;
  }

  /** Executes one run beyond the slots; what waits behind it gets a wake. */
  private async resume(thread: ThreadKey): Promise<void> {
    const { executor, wakes } = this.options;
    try {
      const handling = await executor.handle(thread);
      if (mayHaveMore(handling)) await wakes.publish(thread);
    } catch (error) {
      this.noteUnavailable(error);
    }
  }

  private noteUnavailable(error: unknown): void {
    if (!(error instanceof UnavailableError)) throw error;
    this.options.logger.warn({ event: 'turn.take', outcome: 'error', error }, 'no run taken; a sweep tries again');
  }
}

/** @param isAdmitted whether the run of the offer was admitted before, so that the thread needs no other runner unless it is owned or has to wait */
function answerTo(claimed: ClaimResult, isAdmitted: boolean): OfferAnswer {
  if (claimed.kind === 'run') return { taken: true, ...omitUndefined({ begun: claimed.admitted }) };
  return { taken: isAdmitted && claimed.kind !== 'busy' && claimed.kind !== 'capped' };
}

/** Whether the thread, or its user, may have a run that waits for a slot. */
const mayHaveMore = (handling: Handling): boolean =>
  handling.kind === 'handed_over' || handling.kind === 'capped' || (handling.kind === 'ack' && handling.more);
