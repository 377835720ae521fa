import { UnavailableError } from '@caribou/contracts';
import { type Clock, type Logger, RepeatedTask, type SandboxRegistry } from '@caribou/core';
import type { SandboxInfo, SandboxDriver, SandboxDrivers } from '@caribou/sandbox';
import type { SandboxPool } from '../executions/sandbox-pool.js';

export interface SandboxReaperOptions {
  readonly managerId: string;
  readonly registry: Pick<SandboxRegistry, 'isManagerAlive'>;
  readonly drivers: Pick<SandboxDrivers, 'usable'>;
  readonly pool: Pick<SandboxPool, 'removeUnbound' | 'removeIdle' | 'holds'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Interval between two sweeps, in milliseconds. */
  readonly reapMs: number;
  /** A leftover sandbox is removed after this time, in milliseconds. */
  readonly graceMs: number;
}

/**
 * Removes sandboxes that nobody needs: idle sandboxes of this manager, sandboxes of deleted threads, and leftovers,
 * which are sandboxes of dead managers or unknown to this manager's pool.
 *
 *  R1  A sandbox of another manager is not touched while that manager's lease is valid, and a sandbox of this manager
 *      not while its pool holds it.
 *  R2  A leftover is removed when the sweeps have found it for `graceMs` without a break: a manager that takes its
 *      thread over creates a sandbox of its own. A stopping manager removes leftovers at once, as it may be the last manager.
 *  R3  Exactly the instance that was seen is removed, not another one created under the same sandbox id since then.
 *  R4  While the registry or the container engine is unreachable, nothing is removed and the grace starts again.
 */
export class SandboxReaper {
  /** When each leftover was first seen, by instance; contains only what the last sweep found. */
  private firstSeen = new Map<string, number>();
  readonly sweeps: RepeatedTask;

  constructor(private readonly options: SandboxReaperOptions) {
    const { clock, reapMs, logger } = options;
    this.sweeps = new RepeatedTask({
      clock,
      everyMs: reapMs,
      work: () => this.reap(),
      onFailure: (error) =>
        logger[error instanceof UnavailableError ? 'warn' : 'error'](
          { event: 'sandbox.reap', outcome: 'error', error },
          'the sweep for unused sandboxes failed',
        ),
    });
  }

  /** (R2) Removes leftovers of dead managers without a grace. Does not reject when the registry or engine is unreachable. */
  async removeLeftovers(): Promise<void> {
    const { managerId, registry, drivers, logger } = this.options;
    try {
      for (const driver of await drivers.usable())
        for (const sandbox of await driver.list())
          if (sandbox.managerId !== managerId && !(await registry.isManagerAlive(sandbox.managerId)))
            await this.remove(sandbox, driver);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      logger.warn(
        { event: 'sandbox.reap', outcome: 'error', error },
        'leftover sandboxes of dead sandbox-managers were not removed',
      );
    }
  }

  /** Does one sweep. @throws {UnavailableError} when the registry or the container engine is unreachable */
  async reap(): Promise<void> {
    await this.options.pool.removeUnbound();
    await this.options.pool.removeIdle();
    const before = this.firstSeen;
    this.firstSeen = new Map();
    for (const driver of await this.options.drivers.usable()) {
      for (const sandbox of await driver.list()) await this.removeIfLeftover(sandbox, driver, before);
    }
  }

  private async removeIfLeftover(
    sandbox: SandboxInfo,
    driver: SandboxDriver,
    before: ReadonlyMap<string, number>,
  ): Promise<void> {
    const { clock, graceMs } = this.options;
    if (!(await this.isLeftover(sandbox))) return;
    const nowMs = clock.monotonicMs();
    const sinceMs = before.get(sandbox.instance) ?? nowMs;
    if (nowMs - sinceMs < graceMs) {
      this.firstSeen.set(sandbox.instance, sinceMs);
      return;
    }
    await this.remove(sandbox, driver);
  }

  private async remove(sandbox: SandboxInfo, driver: SandboxDriver): Promise<void> {
    await driver.removeInstance(sandbox);
    const { sandboxId, managerId, userId, threadId } = sandbox;
    this.options.logger.info(
      { event: 'sandbox.reap', outcome: 'ok', driver: driver.kind, sandboxId, userId, threadId, managerId },
      'removed a leftover sandbox',
    );
  }

  /** (R1) Whether no pool holds the sandbox: neither this manager's, nor that of another live manager. */
  private async isLeftover(sandbox: SandboxInfo): Promise<boolean> {
    const { managerId, pool, registry } = this.options;
    if (sandbox.managerId === managerId) return !pool.holds(sandbox.sandboxId);
    return !(await registry.isManagerAlive(sandbox.managerId));
  }
}
