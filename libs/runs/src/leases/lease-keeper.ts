import { type CancelAction, FencedError } from '@caribou/contracts';
import { type Clock, type Logger, RunCancelled, RunLost } from '@caribou/core';

export interface LeaseClocks {
  readonly leaseMs: number;
  readonly renewMs: number;
  /**
   * Milliseconds for which a lease that lapsed without an answer of Redis counts as held; default 0. Only for leases that
   * stay with their owner until another acquires them, and whose owner's writes are fenced.
   */
  readonly outageMs?: number;
}

export interface LeaseKeeperOptions {
  /** Prolongs the lease and returns the cancel flag. @throws {FencedError} when the lease is foreign or absent */
  readonly renew: () => Promise<{ readonly cancel: CancelAction | null }>;
  /** When the request that acquired the lease was sent, by the monotonic clock. */
  readonly takenMs: number;
  readonly clocks: LeaseClocks;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Renews the lease of a thread, for writing it while a run executes or for reading it for a memory.
 *
 * L1 The time of a lease counts from the moment at which its acquisition or renewal was sent; the local deadline is
 *    that moment plus the lease time and `outageMs`.
 * L2 A foreign or absent lease, or a passed local deadline, means lost: `signal` aborts with RunLost, and nothing is
 *    sent.
 * L3 A cancel flag seen by a renewal aborts `signal` with RunCancelled.
 * L4 After an abort its reason does not change; renewal continues after a cancel (the run must still be finished), but
 *    not after a loss.
 */
export class LeaseKeeper {
  private readonly controller = new AbortController();
  private stopped = false;
  private deadlineMs: number;
  private isLost = false;
  private renewing: Promise<void> | undefined;
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly options: LeaseKeeperOptions) {
    this.deadlineMs = this.deadlineFrom(options.takenMs);
    this.timer = setInterval(() => void this.renewNow(), options.clocks.renewMs);
    this.timer.unref();
  }

  /** Aborts with RunCancelled or RunLost. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Whether the lease is known to be lost; may become true after a cancel. */
  get lost(): boolean {
    return this.isLost;
  }

  /** Milliseconds until the local deadline. */
  get remainingMs(): number {
    return this.deadlineMs - this.options.clock.monotonicMs();
  }

  /** Renews at once; joins a renewal in progress. Never rejects: the result is in `signal`. */
  renewNow(): Promise<void> {
    this.renewing ??= this.renew().finally(() => {
      this.renewing = undefined;
    });
    return this.renewing;
  }

  cancel(action: CancelAction): void {
    if (!this.signal.aborted) this.controller.abort(new RunCancelled(action));
  }

  /** Stops the run's work without releasing the lease: the executor decides what follows. */
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

  private deadlineFrom(sentMs: number): number {
    const { leaseMs, outageMs = 0 } = this.options.clocks;
    return sentMs + leaseMs + outageMs;
  }

  private async renew(): Promise<void> {
    const { clock, renew, logger } = this.options;
    if (this.stopped) return;
    const sentMs = clock.monotonicMs();
    if (sentMs >= this.deadlineMs) {
      this.lose('own deadline passed');
      return;
    }
    try {
      const { cancel } = await renew();
      if (this.stopped) return;
      this.deadlineMs = this.deadlineFrom(sentMs);
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
