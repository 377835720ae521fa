import { UnavailableError } from '@caribou/contracts';
import type { Clock, Logger, SandboxRegistry } from '@caribou/core';

export interface ManagerLeaseOptions {
  readonly managerId: string;
  readonly registry: SandboxRegistry;
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Rejects while this manager must not own sandboxes. */
  readonly mayHold: () => Promise<void>;
  /** Runs after each good renewal; `lapsed` says that others may have taken sandboxes over meanwhile. */
  readonly onRenewed: (lapsed: boolean) => Promise<void>;
  /** Runs when the lease was not renewed in time: shortly afterwards others may take sandboxes over. */
  readonly onLapsed: () => void;
}

/** The part of its time that a lease counts as over for its holder, who needs it to end what it executes. */
const FENCE_PART = 0.1;

/**
 * This manager's sign of life. `isHeld` is decided by the own monotonic clock, counted from before the renewal was
 * sent, and a tenth of the lease's time is left for what has to be ended then.
 */
export class ManagerLease {
  readonly managerId: string;
  private heldUntilMs = 0;
  private readonly stopping = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly options: ManagerLeaseOptions) {
    this.managerId = options.managerId;
  }

  isHeld(): boolean {
    return this.options.clock.monotonicMs() < this.heldUntilMs;
  }

  /** Takes the lease and keeps it until `stop`; goes on trying while the registry is away. */
  start(): void {
    this.loop = Promise.all([this.keep(), this.watch()]).then(() => undefined);
  }

  /** Ends the renewals and gives the lease up. @throws {UnavailableError} when the registry is away: it then runs out by itself */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
    this.heldUntilMs = 0;
    await this.options.registry.releaseManager(this.managerId);
  }

  private async keep(): Promise<void> {
    const { clock, renewMs } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.renew();
      await clock.sleep(renewMs, signal).catch((reason: unknown) => {
        if (!signal.aborted) throw reason;
      });
    }
  }

  /** Notices the lease's end by the own clock alone: a renewal that hangs must not hide it. */
  private async watch(): Promise<void> {
    const { clock, renewMs, onLapsed, logger } = this.options;
    const { signal } = this.stopping;
    for (let wasHeld = false; !signal.aborted; ) {
      const leftMs = this.heldUntilMs - clock.monotonicMs();
      if (wasHeld && leftMs <= 0) {
        logger.error({ event: 'manager_lease.end', outcome: 'error' }, 'lease not renewed in time, ending everything');
        onLapsed();
      }
      wasHeld = leftMs > 0;
      await clock.sleep(wasHeld ? leftMs : renewMs, signal).catch((reason: unknown) => {
        if (!signal.aborted) throw reason;
      });
    }
  }

  private async renew(): Promise<void> {
    const { registry, leaseMs, clock, logger, onRenewed, mayHold } = this.options;
    try {
      await mayHold();
      const beganMs = clock.monotonicMs();
      const { lapsed } = await registry.renewManager(this.managerId, leaseMs);
      this.heldUntilMs = beganMs + leaseMs * (1 - FENCE_PART);
      if (lapsed) logger.warn({ event: 'manager_lease.lapse' }, 'the lease of this sandbox-manager had run out');
      await onRenewed(lapsed);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      logger.warn(
        { event: 'manager_lease.renew', outcome: 'error', error },
        'the lease of this sandbox-manager was not renewed',
      );
    }
  }
}
