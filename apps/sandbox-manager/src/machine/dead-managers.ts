import { UnavailableError } from '@caribou/contracts';
import { type Clock, errnoOf, type Logger, RepeatedTask, type SandboxRegistry } from '@caribou/core';
import {
  identifyFile,
  isRefused,
  type ManagerRecord,
  type ManagerRecords,
  type SandboxDrivers,
} from '@caribou/sandbox';

export interface DeadManagersOptions {
  readonly managerId: string;
  readonly records: ManagerRecords;
  readonly registry: Pick<SandboxRegistry, 'isManagerAlive' | 'releaseManager'>;
  readonly drivers: Pick<SandboxDrivers, 'ofKind'>;
  /** Called before the record of a manager is removed: none of its sandboxes is left, as far as can be known. */
  readonly onGone?: (managerId: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Interval between two checks, in milliseconds. */
  readonly everyMs: number;
}

/** A record of another boot or machine is removed after this time if its manager has no lease; milliseconds. */
const STALE_MS = 3_600_000;

/**
 * Releases the leases of managers of this machine whose processes have ended, so that their threads need not wait until
 * those leases lapse.
 *
 *  C1  Only what is certain counts: the manager ran under this boot of the kernel, its record names the very socket file
 *      that is seen here, and the kernel refuses a connection to it. A process that is paused, busy, or cut off from
 *      Redis or NATS still has its socket; for it, the lease decides.
 *  C2  A lease is released only after all sandboxes of the dead manager have ended: then any manager, also on another
 *      machine, may execute the threads' next commands. Where sandboxes may be out of reach, the lease decides.
 *  C3  The record is removed when a later check finds no lease: a renewal that the process had sent before its end may
 *      arrive after the release.
 */
export class DeadManagers {
  /** Managers whose leases were released and whose records still exist. */
  private released = new Set<string>();
  private hasRemovedStale = false;
  readonly checks: RepeatedTask;

  constructor(private readonly options: DeadManagersOptions) {
    const { clock, everyMs, logger } = options;
    this.checks = new RepeatedTask({
      clock,
      everyMs,
      work: () => this.check(),
      onFailure: (error) => {
        const isExpected = error instanceof UnavailableError || errnoOf(error) !== undefined;
        logger[isExpected ? 'warn' : 'error'](
          { event: 'manager.release', outcome: 'error', error },
          'a check for sandbox-managers of this machine that have ended failed',
        );
      },
    });
  }

  /** Does one check. @throws {UnavailableError} when the registry is unreachable, or a system error of the volume */
  async check(): Promise<void> {
    const { managerId, records } = this.options;
    if (records.bootId === undefined) return;
    const others = (await records.list()).filter((id) => id !== managerId);
    this.released = new Set(others.filter((id) => this.released.has(id)));
    const checks = await Promise.allSettled(others.map((id) => this.checkOne(id)));
    for (const result of checks) if (result.status === 'rejected') throw result.reason;
    this.hasRemovedStale = true;
  }

  private async checkOne(managerId: string): Promise<void> {
    const record = await this.options.records.read(managerId);
    if (record !== null && (await this.hasEnded(record))) await this.release(record);
    else if (!this.hasRemovedStale && record?.bootId !== this.options.records.bootId) await this.removeStale(managerId);
  }

  /** (C1) The record was read before the connection is tried: its socket was listening when it was written. */
  private async hasEnded({ managerId, bootId, socket }: ManagerRecord): Promise<boolean> {
    const { records } = this.options;
    const path = records.socketPath(managerId);
    if (path === undefined || bootId !== records.bootId) return false;
    return (await identifyFile(path)) === socket && (await isRefused(path));
  }

  /** (C2, C3) */
  private async release(record: ManagerRecord): Promise<void> {
    const { registry, logger } = this.options;
    const { managerId } = record;
    const isRepeated = this.released.has(managerId);
    const isLeased = await registry.isManagerAlive(managerId);
    if (isRepeated && !isLeased) return this.forget(managerId);
    if (!(await this.endSandboxes(record))) return isLeased ? undefined : this.forget(managerId);
    await registry.releaseManager(managerId);
    this.released.add(managerId);
    if (!isRepeated) {
      logger.warn(
        { event: 'manager.release', outcome: 'ok', managerId },
        'the process of another sandbox-manager has ended, its lease was released',
      );
    }
  }

  /** (C2) Ends all sandboxes of a dead manager; false when some of them may be out of reach. */
  private async endSandboxes({ managerId, domains }: ManagerRecord): Promise<boolean> {
    const { drivers, logger } = this.options;
    try {
      for (const { driver: kind, domain } of domains) {
        const driver = await drivers.ofKind(kind);
        if (domain === null || (await driver.domain()) !== domain) return false;
        const left = (await driver.list()).filter((sandbox) => sandbox.managerId === managerId);
        await Promise.all(left.map((sandbox) => driver.removeInstance(sandbox)));
      }
      return true;
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      const fields = { event: 'manager.release', outcome: 'error', managerId, error } as const;
      logger.warn(fields, 'the sandboxes of a sandbox-manager that has ended were not ended');
      return false;
    }
  }

  private forget(managerId: string): Promise<void> {
    this.options.onGone?.(managerId);
    return this.options.records.remove(managerId);
  }

  private async removeStale(managerId: string): Promise<void> {
    const { registry, records, clock } = this.options;
    if ((await records.ageMs(managerId, clock.now())) < STALE_MS) return;
    if (!(await registry.isManagerAlive(managerId))) await this.forget(managerId);
  }
}
