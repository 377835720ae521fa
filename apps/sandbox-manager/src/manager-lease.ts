import { UnavailableError } from '@caribou/contracts';
import type { Clock, Logger, SandboxRegistry } from '@caribou/core';

export interface ManagerLeaseOptions {
  readonly managerId: string;
  readonly registry: SandboxRegistry;
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Runs after each good renewal; `lapsed` says that others may have taken sandboxes over meanwhile. */
  readonly onRenewed: (lapsed: boolean) => Promise<void>;
}

/**
 * This manager's sign of life. `isHeld` is decided by the own monotonic clock, counted from before the renewal was
 * sent, so it turns false no later than the lease itself runs out.
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
    this.loop = this.keep();
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

  private async renew(): Promise<void> {
    const { registry, leaseMs, clock, logger, onRenewed } = this.options;
    const beganMs = clock.monotonicMs();
    try {
      const { lapsed } = await registry.renewManager(this.managerId, leaseMs);
      this.heldUntilMs = beganMs + leaseMs;
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
