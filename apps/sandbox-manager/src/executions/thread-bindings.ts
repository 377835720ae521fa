import type { SandboxDriverKind } from '@caribou/contracts';
import type { Clock, SandboxProposal, SandboxRecord, SandboxRegistry, ThreadKey } from '@caribou/core';
import type { SandboxDrivers } from '@caribou/sandbox';

export interface ThreadBindingsOptions {
  readonly managerId: string;
  readonly registry: SandboxRegistry;
  readonly drivers: SandboxDrivers;
  readonly sandboxIdOf: (thread: ThreadKey) => string;
  readonly clock: Clock;
  /** How long a manager with an expired lease may still renew it, in milliseconds; longer than one renewal interval. */
  readonly graceMs: number;
}

/** Binds threads to managers in the registry, by the rules P1, P3 and P8 of the sandbox pool. */
export class ThreadBindings {
  constructor(private readonly options: ThreadBindingsOptions) {}

  /**
   * The thread's binding: the existing one if its manager is alive, otherwise a new one to this manager.
   *
   * @param driver kind of the sandbox that this manager already holds for the thread
   * @throws {FencedError} when `epoch` is not the thread's current one
   * @throws {UnavailableError} when no driver can be used
   */
  async bind(thread: ThreadKey, epoch: number, driver: SandboxDriverKind | undefined): Promise<SandboxRecord> {
    const { managerId, sandboxIdOf } = this.options;
    return this.propose(thread, {
      managerId,
      sandboxId: sandboxIdOf(thread),
      driver: driver ?? (await this.chooseDriver(thread)),
      epoch,
    });
  }

  /** Takes the thread over from a manager that is gone, for no run; returns whether it is bound to this manager then. */
  async inherit(thread: ThreadKey): Promise<boolean> {
    const { registry, managerId, sandboxIdOf, drivers } = this.options;
    const existing = await registry.binding(thread);
    if (existing === null) return false;
    const driver = (await drivers.ofKind(existing.driver)).kind;
    const record = await this.propose(thread, { managerId, sandboxId: sandboxIdOf(thread), driver });
    return record.managerId === managerId;
  }

  /** (P8) Proposes a binding. If the bound manager's lease has expired, proposes again after the grace period. */
  private async propose(thread: ThreadKey, proposal: SandboxProposal): Promise<SandboxRecord> {
    const { registry, clock, graceMs } = this.options;
    const { lapse, ...record } = await registry.bind(thread, proposal);
    if (lapse === undefined) return record;
    await clock.sleep(graceMs);
    const { lapse: _again, ...since } = await registry.bind(thread, { ...proposal, lapse });
    return since;
  }

  /**
   * (P3) The driver to propose for a thread. It must be usable on this machine, unless another live manager is bound to
   * the thread and the proposal will be declined.
   */
  private async chooseDriver(thread: ThreadKey): Promise<SandboxDriverKind> {
    const { registry, drivers, managerId } = this.options;
    const existing = await registry.binding(thread);
    if (existing === null) return (await drivers.forNewThread()).kind;
    if (existing.managerId !== managerId && (await registry.isManagerAlive(existing.managerId))) return existing.driver;
    return (await drivers.ofKind(existing.driver)).kind;
  }
}
