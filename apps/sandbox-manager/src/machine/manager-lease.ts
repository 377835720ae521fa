import { UnavailableError } from '@caribou/contracts';
import { type Clock, type Logger, repeatUntilAborted, type SandboxRegistry } from '@caribou/core';

export interface ManagerLeaseOptions {
  readonly managerId: string;
  readonly registry: SandboxRegistry;
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called before each renewal; rejects while this manager must not own sandboxes. */
  readonly mayHold: () => Promise<void>;
  /** Called after each successful renewal; `lapsed` means that other managers may have taken sandboxes over. */
  readonly onRenewed: (lapsed: boolean) => Promise<void>;
  /** Called when the lease was not renewed in time: shortly afterwards, other managers may take sandboxes over. */
  readonly onLapsed: () => void;
}

/** Fraction at the end of the lease in which its holder no longer relies on it, but ends its executions. */
const FENCE_PART = 0.1;

/**
 * The lease that shows other services that this manager is alive. `isHeld` depends only on this process's monotonic
 * clock: the lease is counted from before its renewal was sent, and ends a tenth early, so that executions can be ended
 * before another manager takes their sandboxes over.
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

  /** Takes the lease and renews it until `stop`; while the registry is unreachable, it retries. */
  start(): void {
    const { clock, renewMs: everyMs } = this.options;
    this.loop = Promise.all([
      repeatUntilAborted({ clock, everyMs, signal: this.stopping.signal }, () => this.renew()),
      this.watchForLapse(),
    ]).then(() => undefined);
  }

  /**
   * Ends the renewals and releases the lease.
   *
   * @throws {UnavailableError} when the registry is unreachable; the lease then expires by itself
   */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
    this.heldUntilMs = 0;
    await this.options.registry.releaseManager(this.managerId);
  }

  /** Detects the end of the lease by the local clock only, so that a renewal that hangs cannot hide it. */
  private async watchForLapse(): Promise<void> {
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
