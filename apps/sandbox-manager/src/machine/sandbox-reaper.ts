import { UnavailableError } from '@caribou/contracts';
import type { Clock, Logger, SandboxRegistry } from '@caribou/core';
import type { SandboxInfo, SandboxDriver, SandboxDrivers } from '@caribou/sandbox';
import type { SandboxPool } from '../executions/sandbox-pool.js';

export interface SandboxReaperOptions {
  readonly managerId: string;
  readonly registry: Pick<SandboxRegistry, 'isManagerAlive'>;
  readonly drivers: Pick<SandboxDrivers, 'usable'>;
  readonly pool: Pick<SandboxPool, 'removeForgotten' | 'removeIdle' | 'holds'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Time between two looks, in milliseconds. */
  readonly reapMs: number;
  /** A leftover goes after this long, in milliseconds. */
  readonly graceMs: number;
}

/**
 * Removes sandboxes that nobody needs: idle ones of this manager, those of deleted threads, and what dead managers
 * left.
 *
 *  R1  a sandbox of another manager whose lease lives is never touched; a sandbox of this manager only when its pool
 *      does not hold it
 *  R2  a leftover stays for `graceMs`, counted from when this manager first saw it as one without a break: whoever
 *      takes its thread over makes a sandbox of its own. A manager that stops removes leftovers at once: it may be the
 *      last one
 *  R3  what goes is the very sandbox that was seen; one made under its sandbox id since stays
 *  R4  while registry or engine does not answer, nothing is decided and no time counts as seen
 */
export class SandboxReaper {
  /** When each leftover was first seen; holds no more than the last look found. */
  private firstSeen = new Map<string, number>();
  private readonly stopping = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly options: SandboxReaperOptions) {}

  /** Looks now and then again and again, until `stop`. */
  start(): void {
    this.loop = this.lookUntilStopped();
  }

  /** Resolves when a look that is under way is over. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  /** (R2) Removes what dead managers left, without a grace. Never rejects for a registry or engine that is away. */
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
        'what dead sandbox-managers left was not removed',
      );
    }
  }

  private async lookUntilStopped(): Promise<void> {
    const { clock, reapMs, logger } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        await this.reap();
      } catch (error) {
        // The wall of this loop: one bad look must not be the last one.
        logger[error instanceof UnavailableError ? 'warn' : 'error'](
          { event: 'sandbox.reap', outcome: 'error', error },
          'the look for unused sandboxes failed',
        );
      }
      await clock.sleep(reapMs, signal).catch((reason: unknown) => {
        if (!signal.aborted) throw reason;
      });
    }
  }

  /** One look. @throws {UnavailableError} when registry or engine is away */
  async reap(): Promise<void> {
    await this.options.pool.removeForgotten();
    await this.options.pool.removeIdle();
    const before = this.firstSeen;
    this.firstSeen = new Map();
    for (const driver of await this.options.drivers.usable()) {
      for (const sandbox of await driver.list()) await this.consider(sandbox, driver, before);
    }
  }

  private async consider(
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
      'removed a sandbox that a manager had left',
    );
  }

  /** (R1) */
  private async isLeftover(sandbox: SandboxInfo): Promise<boolean> {
    const { managerId, pool, registry } = this.options;
    if (sandbox.managerId === managerId) return !pool.holds(sandbox.sandboxId);
    return !(await registry.isManagerAlive(sandbox.managerId));
  }
}
