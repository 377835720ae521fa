import { UnavailableError } from '@caribou/contracts';
import { type Clock, type Logger, RepeatedTask, type SandboxRegistry } from '@caribou/core';

export interface ManagerLeaseOptions {
  readonly managerId: string;
  readonly registry: SandboxRegistry;
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly clock: Clock;
  /** Milliseconds since the machine's start, with the time for which it was suspended, unlike the clock's. */
  readonly uptimeMs: () => number;
  readonly logger: Logger;
  /** Called before each renewal; rejects while this manager must not own sandboxes. */
  readonly mayHold: () => Promise<void>;
  /** Called after each successful renewal; `lapsed` means that other managers may have taken sandboxes over. */
  readonly onRenewed: (lapsed: boolean) => Promise<void>;
  /** Called with the end of the lease by `uptimeMs`, as its holder counts it, whenever that changes. */
  readonly onProlonged: (untilMs: number) => void;
  /** Called when the lease was not renewed in time: shortly afterwards, other managers may take sandboxes over. */
  readonly onLapsed: () => void;
}

/** Fraction at the end of the lease in which its holder no longer relies on it, but ends its executions. */
const FENCE_PART = 0.1;
/** The end of the lease is looked for at least this often, as timers stand still while the machine is suspended. */
const WATCH_MS = 1_000;
/** A renewal that failed is repeated after this: a store that was away for half of the lease costs no execution. */
const RETRY_MS = 300;

/**
 * The lease that shows other services that this manager is alive. `isHeld` depends only on a clock of this machine: the
 * lease is counted from before its renewal was sent, and ends a tenth early, so that executions can be ended before
 * another manager takes their sandboxes over. Whoever asks first after the end of the lease, after a pause of the
 * process too, has everything ended before it is answered; a renewal that comes later does not undo that.
 */
export class ManagerLease {
  readonly managerId: string;
  private heldUntilMs = 0;
  /** Whether the end of the lease has to be acted on when it is noticed. */
  private isRelied = false;
  private readonly stopping = new AbortController();
  private readonly renewals: RepeatedTask;
  private watch: Promise<void> = Promise.resolve();

  constructor(private readonly options: ManagerLeaseOptions) {
    const { managerId, clock, renewMs, logger } = options;
    this.managerId = managerId;
    this.renewals = new RepeatedTask({
      clock,
      everyMs: renewMs,
      retryMs: Math.min(RETRY_MS, renewMs),
      work: () => this.renew(),
      onFailure: (error) => {
        if (!(error instanceof UnavailableError)) throw error;
        logger.warn(
          { event: 'manager_lease.renew', outcome: 'error', error },
          'the lease of this sandbox-manager was not renewed',
        );
      },
    });
  }

  isHeld(): boolean {
    const isHeld = this.options.uptimeMs() < this.heldUntilMs;
    if (!isHeld && this.isRelied) this.lapse();
    return isHeld;
  }

  private lapse(): void {
    this.isRelied = false;
    this.options.logger.error(
      { event: 'manager_lease.end', outcome: 'error' },
      'lease not renewed in time, ending everything',
    );
    this.options.onLapsed();
  }

  /** Takes the lease and renews it until `stop`; while the registry is unreachable, it retries. */
  start(): void {
    this.renewals.start();
    this.watch = this.watchForLapse();
  }

  /**
   * Ends the renewals and releases the lease.
   *
   * @throws {UnavailableError} when the registry is unreachable; the lease then expires by itself
   */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all([this.renewals.stop(), this.watch]);
    this.heldUntilMs = 0;
    this.isRelied = false;
    await this.options.registry.releaseManager(this.managerId);
  }

  /** Detects the end of the lease by the local clock only, so that a renewal that hangs cannot hide it. */
  private async watchForLapse(): Promise<void> {
    const { clock, uptimeMs } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const leftMs = this.isHeld() ? this.heldUntilMs - uptimeMs() : WATCH_MS;
      await clock.sleep(Math.min(Math.max(leftMs, 0), WATCH_MS), signal).catch((reason: unknown) => {
        if (!signal.aborted) throw reason;
      });
    }
  }

  private async renew(): Promise<void> {
    const { registry, leaseMs, uptimeMs, logger, onRenewed, onProlonged, mayHold } = this.options;
    await mayHold();
    const beganMs = uptimeMs();
    const { lapsed } = await registry.renewManager(this.managerId, leaseMs);
    this.isHeld();
    this.heldUntilMs = beganMs + leaseMs * (1 - FENCE_PART);
    this.isRelied = uptimeMs() < this.heldUntilMs;
    onProlonged(this.heldUntilMs);
    if (lapsed) logger.warn({ event: 'manager_lease.lapse' }, 'the lease of this sandbox-manager had run out');
    await onRenewed(lapsed);
  }
}
