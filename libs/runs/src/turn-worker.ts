import type { Wake, WakePull, Wakes } from '@caribou/bus';
import { UnavailableError } from '@caribou/contracts';
import type { Logger, RunStore } from '@caribou/core';
import type { Metrics } from '@caribou/observability';
import type { RunExecutor } from './run-executor.js';
import type { RunRegistry } from './run-registry.js';

export interface TurnWorkerOptions {
  readonly wakes: Wakes;
  readonly store: Pick<RunStore, 'hasWork'>;
  readonly executor: RunExecutor;
  readonly registry: RunRegistry;
  readonly metrics: Pick<Metrics, 'redelivered'>;
  readonly logger: Logger;
  /** Wakes held at once. */
  readonly slots: number;
  /** Delay before the wake of a thread that another runner owns comes again. */
  readonly busyNakMs: number;
}

/** Turns wakes into runs: one wake, one claim, one run; what else the thread has goes on with a new wake. */
export class TurnWorker {
  private pull: WakePull | undefined;

  constructor(private readonly options: TurnWorkerOptions) {}

  start(): void {
    this.pull = this.options.wakes.pull({ slots: this.options.slots, handle: (wake) => this.handle(wake) });
  }

  /** Takes no new wake, lets running turns reach their border within `graceMs`, hands them over. */
  async drain(graceMs: number): Promise<void> {
    this.pull?.stop();
    await this.options.registry.drain(graceMs);
    await this.pull?.idle();
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
      logger.warn({ event: 'turn.claim', outcome: 'error', error }, 'thread not claimed, the wake goes back');
      wake.nak(busyNakMs);
    }
  }

  /**
   * Acknowledges, then looks again: a run admitted between the finish script and the ack found its wake still
   * standing and published none.
   */
  private async settle(wake: Wake): Promise<void> {
    await wake.ack();
    if (await this.options.store.hasWork(wake)) await this.options.wakes.publish(wake);
  }
}
