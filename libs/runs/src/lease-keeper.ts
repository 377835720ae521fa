import { type CancelAction, FencedError } from '@caribou/contracts';
import { type Clock, type Logger, RunCancelled, RunLost } from '@caribou/core';

export interface LeaseClocks {
  readonly leaseMs: number;
  readonly renewMs: number;
}

export interface LeaseKeeperOptions {
  /** Prolongs the lease and answers the cancel flag. @throws {FencedError} when the lease is foreign or absent */
  readonly renew: () => Promise<{ readonly cancel: CancelAction | null }>;
  /** When the request that took the lease was sent, by the monotonic clock. */
  readonly takenMs: number;
  readonly clocks: LeaseClocks;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after each good renewal, and only then: prolongs the wake's ack deadline. */
  readonly onRenewed?: () => void;
}

/**
 * Holds the right to a thread, to write it while a run executes or to read it for a memory.
 *
 * L1 A renewal, as the taking of the lease, counts from the moment it was sent; the own deadline is that moment plus the
 *    lease time.
 * L2 A foreign or absent lease, or a passed own deadline, means lost: `signal` aborts with RunLost, nobody is told.
 * L3 A cancel flag seen by a renewal aborts `signal` with RunCancelled.
 * L4 Once aborted the reason stays; renewal goes on after a cancel (the run must still be finished), not after a loss.
 */
export class LeaseKeeper {
  private readonly controller = new AbortController();
  private stopped = false;
  private deadlineMs: number;
  private isLost = false;
  private renewing: Promise<void> | undefined;
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly options: LeaseKeeperOptions) {
    this.deadlineMs = options.takenMs + options.clocks.leaseMs;
    this.timer = setInterval(() => void this.renewNow(), options.clocks.renewMs);
    this.timer.unref();
  }

  /** Aborts with RunCancelled or RunLost. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Whether the lease is known to be gone; may become true after a cancel. */
  get lost(): boolean {
    return this.isLost;
  }

  /** Milliseconds left before the own deadline. */
  get remainingMs(): number {
    return this.deadlineMs - this.options.clock.monotonicMs();
  }

  /** Renews at once; joins a renewal under way. Never rejects: what it learns is in `signal`. */
  renewNow(): Promise<void> {
    this.renewing ??= this.renew().finally(() => {
      this.renewing = undefined;
    });
    return this.renewing;
  }

  cancel(action: CancelAction): void {
    if (!this.signal.aborted) this.controller.abort(new RunCancelled(action));
  }

  /** Stops the run's work without giving the lease up: the executor decides what follows. */
  fail(reason: unknown): void {
    this.controller.abort(reason);
  }

  lose(reason: string): void {
    this.isLost = true;
    this.stop();
    this.controller.abort(new RunLost(reason));
  }

  stop(): void {
    clearInterval(this.timer);
    this.stopped = true;
  }

  private async renew(): Promise<void> {
    const { clock, clocks, renew, logger, onRenewed } = this.options;
    if (this.stopped) return;
    const sentMs = clock.monotonicMs();
    if (sentMs >= this.deadlineMs) {
      this.lose('own deadline passed');
      return;
    }
    try {
      const { cancel } = await renew();
      if (this.stopped) return;
      this.deadlineMs = sentMs + clocks.leaseMs;
      onRenewed?.();
      if (cancel !== null) this.cancel(cancel);
    } catch (error) {
      if (error instanceof FencedError) this.lose('lease is foreign or absent');
      else
        logger.warn(
          { event: 'lease.renew', outcome: 'error', error },
          'lease renewal failed; local deadline still applies',
        );
    }
  }
}
