import { UnavailableError } from '@caribou/contracts';
import { type Clock, type Logger, RepeatedTask } from '@caribou/core';
import type { ProcessOwner, ProcessRegistry, ProcessRenewal } from '@caribou/state';

export interface ProcessLeaseOptions {
  readonly owner: ProcessOwner;
  readonly registry: Pick<ProcessRegistry, 'renew' | 'release'>;
  readonly renewMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after each renewal that names dead processes. Never rejects. */
  readonly onDeaths: (renewal: ProcessRenewal) => Promise<void>;
}

/** Fraction at the end of the lease in which its holder no longer relies on it. */
const FENCE_PART = 0.1;

/**
 * The lease of this process, under which its claims live: when the process dies, others see it within the time of one
 * lease, however many claims it had.
 *
 * P1 The lease is counted from before its renewal was sent, and its holder relies on it for nine tenths of its time, by
 *    its monotonic clock: a process that stalled knows it before it shows anything.
 * P2 A lease that lapsed does not end what the process does: its claims belong to it until another process takes them
 *    over, which every write finds out.
 */
export class ProcessLease {
  private heldUntilMs = 0;
  private readonly renewals: RepeatedTask;

  constructor(private readonly options: ProcessLeaseOptions) {
    const { clock, renewMs, logger } = options;
    this.renewals = new RepeatedTask({
      clock,
      everyMs: renewMs,
      work: () => this.renew(),
      onFailure: (error) => {
        if (!(error instanceof UnavailableError)) throw error;
        logger.warn(
          { event: 'process_lease.renew', outcome: 'error', error },
          'the lease of this process was not renewed',
        );
      },
    });
  }

  /** Whether no other process can have taken over what this one has claimed. */
  isHeld(): boolean {
    return this.options.clock.monotonicMs() < this.heldUntilMs;
  }

  /** Takes the lease and renews it until `stop`; while the registry is unreachable, it retries. */
  start(): void {
    this.renewals.start();
  }

  /** Ends the renewals and releases the lease of a process that owns nothing any more. */
  async stop(): Promise<void> {
    const { owner, registry, logger } = this.options;
    await this.renewals.stop();
    this.heldUntilMs = 0;
    try {
      await registry.release(owner.processId);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      logger.warn(
        { event: 'process_lease.release', outcome: 'error', error },
        'the lease of this process lapses later',
      );
    }
  }

  private async renew(): Promise<void> {
    const { owner, registry, clock, onDeaths } = this.options;
    const sentMs = clock.monotonicMs();
    const renewal = await registry.renew(owner);
    this.heldUntilMs = sentMs + owner.leaseMs * (1 - FENCE_PART);
    if (renewal.dead.length > 0) void onDeaths(renewal);
  }
}
