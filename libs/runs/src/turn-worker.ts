import type { Wake, WakePull, Wakes } from '@caribou/bus';
import { UnavailableError } from '@caribou/contracts';
import type { Logger, ThreadKey } from '@caribou/core';
import type { RunStore, UnownedThread } from '@caribou/state';
import type { Metrics } from '@caribou/observability';
import type { RunExecutor } from './run-executor.js';
import type { RunRegistry } from './run-registry.js';
import type { DirectWorker } from './sweeper.js';

export interface TurnWorkerOptions {
  readonly wakes: Pick<Wakes, 'pull' | 'publish'>;
  readonly store: Pick<RunStore, 'hasWork'>;
  readonly executor: Pick<RunExecutor, 'handle'>;
  readonly registry: Pick<RunRegistry, 'drain'>;
  readonly metrics: Pick<Metrics, 'redelivered'>;
  readonly logger: Logger;
  /** Maximum number of concurrent runs. */
  readonly slots: number;
  /** Runs beyond `slots` that may be taken over while all slots are in use. */
  readonly takeoverSlots: number;
  /** Milliseconds after which the wake of a thread that another runner owns is delivered again. */
  readonly busyNakMs: number;
}

/**
 * Executes runs for wakes: one wake, one claim, one run; further runs of the thread get a new wake. A sweep may also
 * have a thread claimed without a wake.
 */
export class TurnWorker implements DirectWorker {
  private pull: WakePull | undefined;
  /** Runs in takeover slots. */
  private readonly takeovers = new Set<Promise<void>>();
  private draining = false;

  constructor(private readonly options: TurnWorkerOptions) {}

  start(): void {
    this.pull = this.options.wakes.pull({ slots: this.options.slots, handle: (wake) => this.handle(wake) });
  }

  get failingMs(): number {
    return this.pull?.failingMs ?? 0;
  }

  take(thread: UnownedThread): boolean {
    if (this.draining || this.pull === undefined) return false;
    const work = (): Promise<void> => this.runDirectly(thread);
    return this.pull.occupy(work) || (thread.interrupted && this.takeOver(work));
  }

  /** Accepts no further wakes, waits up to `graceMs` for running turns to reach a commit, then hands them over. */
  async drain(graceMs: number): Promise<void> {
    this.draining = true;
    this.pull?.stop();
    await this.options.registry.drain(graceMs);
    await this.pull?.idle();
    await Promise.all(this.takeovers);
  }

  private takeOver(work: () => Promise<void>): boolean {
    if (this.takeovers.size >= this.options.takeoverSlots) return false;
    const running = work()
      .catch((error: unknown) => {
        this.options.logger.error({ event: 'turn.take_over', outcome: 'error', error }, 'a takeover failed');
      })
      .finally(() => this.takeovers.delete(running));
    this.takeovers.add(running);
    return true;
  }

  /** Runs the thread's next run without a wake, and publishes a wake for further ones. */
  private async runDirectly(thread: ThreadKey): Promise<void> {
    const { executor, logger } = this.options;
    const { userId, threadId } = thread;
    try {
      const handling = await executor.handle(thread, () => undefined);
      if (handling.kind === 'ack' || handling.kind === 'handed_over') await this.wakeIfWork(thread);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      logger.warn({ event: 'turn.claim', outcome: 'error', userId, threadId, error }, 'a sweep looks at it again');
    }
  }

  private async handle(wake: Wake): Promise<void> {
    const { executor, busyNakMs, logger } = this.options;
    if (wake.redelivered) this.options.metrics.redelivered();
    try {
      const handling = await executor.handle(wake, () => wake.working());
      if (handling.kind === 'busy') wake.nak(busyNakMs);
      else if (handling.kind === 'handed_over') wake.nak(0);
      else if (handling.kind === 'ack') await this.settle(wake);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      logger.warn({ event: 'turn.claim', outcome: 'error', error }, 'thread not claimed, the wake is returned');
      // Many threads are returned at once when Redis recovers; the random delay spreads them.
      wake.nak(busyNakMs * (0.5 + Math.random()));
    }
  }

  /**
   * Acknowledges the wake, then checks the thread again: a run admitted between the finish script and the ack found the
   * wake not yet acknowledged and published none.
   */
  private async settle(wake: Wake): Promise<void> {
    await wake.ack();
    await this.wakeIfWork(wake);
  }

  private async wakeIfWork(thread: ThreadKey): Promise<void> {
    if (await this.options.store.hasWork(thread)) await this.options.wakes.publish(thread);
  }
}
