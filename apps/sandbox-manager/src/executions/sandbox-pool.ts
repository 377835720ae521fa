import { NotFoundError, type SandboxDriverKind, UnavailableError } from '@caribou/contracts';
import type { Clock, Logger, SandboxProposal, SandboxRecord, SandboxRegistry, ThreadKey } from '@caribou/core';
import type { SandboxDriver, SandboxDrivers } from '@caribou/sandbox';
import type { ManagedSandbox } from './managed-sandbox.js';
import { ExecutionLane } from './execution-lane.js';
import { withReplacementNotice } from './replacement-notice.js';

export interface SandboxPoolOptions {
  readonly managerId: string;
  readonly registry: SandboxRegistry;
  readonly drivers: SandboxDrivers;
  readonly sandboxIdOf: (thread: ThreadKey) => string;
  readonly onReady?: (durationMs: number) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Beyond this many, the longest unused sandbox goes; more of them in use at once are let be. */
  readonly maxBoxes: number;
  /** A sandbox unused for this long goes, in milliseconds. */
  readonly idleMs: number;
  /** Longer than the time between two renewals of a manager's lease; milliseconds. */
  readonly graceMs: number;
  /** Commands of one thread that may wait for the one that runs. */
  readonly maxWaiting: number;
}

const keyOf = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;

/**
 * The sandboxes this manager holds.
 *
 *  P1  a thread has one sandbox: its binding in the registry names one manager, and that manager has one sandbox for it
 *  P2  the first thing done to a sandbox is to end what an earlier manager left in it
 *  P3  the driver of a thread never changes
 *  P4  a sandbox that goes, goes with its processes; its files stay, and the next use makes it again
 *  P5  a sandbox in use is never removed, but when this process stops or its thread was deleted
 *  P6  a sandbox that went away by itself is made again before its next use, and the next command's result says so
 *  P7  a sandbox whose thread has lost its binding is of a deleted thread: it goes, and a new thread of that id gets
 *      another one
 *  P8  a manager is followed by another when it gave its lease up, or has let it run out and did not renew it for
 *      `graceMs` after that was seen: when the store's clock jumps, leases of managers that live run out
 */
export class SandboxPool {
  private readonly sandboxes = new Map<string, ManagedSandbox>();
  /** Removals under way, by sandbox id: a sandbox is made again only after its removal. */
  private readonly removals = new Map<string, Promise<void>>();
  private closed = false;

  constructor(private readonly options: SandboxPoolOptions) {}

  /**
   * The thread's binding: an existing one whose manager lives, whoever that is, or a new one to this manager with its
   * sandbox made ready.
   *
   * @throws {FencedError} when `epoch` is not the thread's current one
   * @throws {UnavailableError} when no driver can be used, or the sandbox cannot be made
   */
  async acquire(thread: ThreadKey, epoch: number): Promise<SandboxRecord> {
    const { managerId, sandboxIdOf, drivers } = this.options;
    await this.dropForgotten(thread);
    const driver = this.sandboxes.get(keyOf(thread))?.driver.kind ?? (await this.proposedKind(thread));
    const record = await this.bind(thread, { managerId, sandboxId: sandboxIdOf(thread), driver, epoch });
    if (record.managerId === managerId) {
      const sandbox = this.sandboxFor(thread, record, await drivers.ofKind(record.driver));
      await this.using(sandbox, () => this.readyAndAlive(sandbox));
      // Nobody waits for what has to go for this one: removals never reject, and `close` awaits them.
      if (this.sandboxes.size > this.options.maxBoxes) void this.removeIdle();
    }
    return record;
  }

  /** (P8) The binding after the proposal. */
  private async bind(thread: ThreadKey, proposal: SandboxProposal): Promise<SandboxRecord> {
    const { registry, clock, graceMs } = this.options;
    const { lapse, ...record } = await registry.bind(thread, proposal);
    if (lapse === undefined) return record;
    await clock.sleep(graceMs);
    const { lapse: _again, ...since } = await registry.bind(thread, { ...proposal, lapse });
    return since;
  }

  /**
   * (P3) The driver to propose for a thread: one this manager can use, unless another manager holds the thread alive.
   */
  private async proposedKind(thread: ThreadKey): Promise<SandboxDriverKind> {
    const { registry, drivers, managerId } = this.options;
    const existing = await registry.binding(thread);
    if (existing === null) return (await drivers.forNewThread()).kind;
    if (existing.managerId !== managerId && (await registry.isManagerAlive(existing.managerId))) return existing.driver;
    return (await drivers.ofKind(existing.driver)).kind;
  }

  /** (P1) Synchronous between look and store. */
  private sandboxFor({ userId, threadId }: ThreadKey, record: SandboxRecord, driver: SandboxDriver): ManagedSandbox {
    const key = keyOf({ userId, threadId });
    const known = this.sandboxes.get(key);
    if (known !== undefined) return known;
    if (this.closed)
      throw new UnavailableError('this sandbox-manager is stopping', { details: { dependency: 'sandbox' } });
    const { managerId, maxWaiting, clock } = this.options;
    const spec = { sandboxId: record.sandboxId, managerId, userId, threadId };
    const sandbox: ManagedSandbox = {
      spec,
      driver: withReplacementNotice(driver, () => {
        const { replaced } = sandbox;
        sandbox.replaced = false;
        return replaced;
      }),
      lane: new ExecutionLane(maxWaiting),
      made: false,
      users: 0,
      replaced: false,
      lastUsedMs: clock.monotonicMs(),
    };
    this.sandboxes.set(key, sandbox);
    return sandbox;
  }

  /**
   * The sandbox this manager holds for the thread. @throws {NotFoundError} when it holds none, or another than the
   * caller means
   */
  held(thread: ThreadKey, sandboxId: string): ManagedSandbox {
    const sandbox = this.sandboxes.get(keyOf(thread));
    if (sandbox === undefined || sandbox.spec.sandboxId !== sandboxId) {
      throw new NotFoundError('this sandbox-manager does not hold that sandbox', {
        details: { resource: 'sandbox', id: sandboxId },
      });
    }
    sandbox.lastUsedMs = this.options.clock.monotonicMs();
    return sandbox;
  }

  /** (P5) The result of `work`, which needs the sandbox. */
  async using<T>(sandbox: ManagedSandbox, work: () => Promise<T>): Promise<T> {
    sandbox.users += 1;
    try {
      return await work();
    } finally {
      sandbox.users -= 1;
      sandbox.lastUsedMs = this.options.clock.monotonicMs();
    }
  }

  /** (P6) A sandbox that others are working in needs no look: they find out themselves. */
  private async readyAndAlive(sandbox: ManagedSandbox): Promise<void> {
    const seen = sandbox.ready;
    await this.ready(sandbox);
    if (seen === undefined || sandbox.users > 1 || (await sandbox.driver.isAlive(sandbox.spec))) return;
    await this.replace(sandbox, seen);
  }

  /**
   * Resolves when the sandbox is ready for commands. One attempt at a time; a failed one is repeated by the next
   * caller.
   */
  async ready(sandbox: ManagedSandbox): Promise<void> {
    sandbox.ready ??= this.make(sandbox);
    const attempt = sandbox.ready;
    try {
      await attempt;
    } catch (error) {
      if (sandbox.ready === attempt) {
        delete sandbox.ready;
        const { sandboxId } = sandbox.spec;
        this.options.logger.warn({ event: 'sandbox.ready', outcome: 'error', sandboxId, error }, 'sandbox not ready');
      }
      throw error;
    }
  }

  private async make(sandbox: ManagedSandbox): Promise<void> {
    await this.removals.get(sandbox.spec.sandboxId);
    const beganMs = this.options.clock.monotonicMs();
    await sandbox.driver.create(sandbox.spec, { fresh: !sandbox.made });
    sandbox.made = true;
    const { sandboxId, userId, threadId } = sandbox.spec;
    const durationMs = this.options.clock.monotonicMs() - beganMs;
    this.options.onReady?.(durationMs);
    this.options.logger.info(
      { event: 'sandbox.ready', outcome: 'ok', driver: sandbox.driver.kind, sandboxId, userId, threadId, durationMs },
      'sandbox ready',
    );
  }

  /**
   * (P6) Makes a sandbox again that went away, `seen` being its readiness before that: whoever comes second waits for
   * the first one's.
   *
   * @throws {UnavailableError} when it cannot be made, or is not this manager's any more
   */
  async replace(sandbox: ManagedSandbox, seen: ManagedSandbox['ready']): Promise<void> {
    const { sandboxId, userId, threadId } = sandbox.spec;
    if (this.sandboxes.get(keyOf(sandbox.spec)) !== sandbox)
      throw new UnavailableError('the sandbox has passed to another', { details: { dependency: 'sandbox' } });
    if (sandbox.ready === seen) {
      delete sandbox.ready;
      sandbox.replaced = true;
      this.options.logger.warn(
        { event: 'sandbox.replace', sandboxId, userId, threadId },
        'a sandbox had gone away and is made again',
      );
    }
    await this.ready(sandbox);
  }

  /** The driver of a sandbox that this manager holds. */
  driverOf(sandboxId: string): SandboxDriverKind | undefined {
    return [...this.sandboxes.values()].find(({ spec }) => spec.sandboxId === sandboxId)?.driver.kind;
  }

  /** Whether this manager holds the sandbox, or is removing it. */
  holds(sandboxId: string): boolean {
    return (
      this.removals.has(sandboxId) || [...this.sandboxes.values()].some(({ spec }) => spec.sandboxId === sandboxId)
    );
  }

  /** The run is over; whether this manager held the sandbox. What is idle for long is removed later. */
  release(thread: ThreadKey, sandboxId: string): boolean {
    return this.sandboxes.get(keyOf(thread))?.spec.sandboxId === sandboxId;
  }

  /** (P4) Removes what is unused for long, or unused and too many. */
  async removeIdle(): Promise<void> {
    const { clock, idleMs, maxBoxes } = this.options;
    const oldestFirst = [...this.sandboxes.values()]
      .filter((sandbox) => sandbox.users === 0)
      .sort((left, right) => left.lastUsedMs - right.lastUsedMs);
    const excess = this.sandboxes.size - maxBoxes;
    const nowMs = clock.monotonicMs();
    await Promise.all(
      oldestFirst
        .filter((sandbox, index) => index < excess || nowMs - sandbox.lastUsedMs > idleMs)
        .map((sandbox) => this.remove(sandbox)),
    );
  }

  /**
   * (P7) Also of a thread whose id was used again under another manager since, which may have a sandbox of that name by
   * now.
   */
  private async dropForgotten(thread: ThreadKey): Promise<void> {
    const sandbox = this.sandboxes.get(keyOf(thread));
    if (sandbox === undefined) return;
    const record = await this.options.registry.binding(thread);
    if (record?.managerId === this.options.managerId || this.sandboxes.get(keyOf(thread)) !== sandbox) return;
    if (record === null) void this.remove(sandbox);
    else this.sandboxes.delete(keyOf(thread));
  }

  /**
   * (P5, P7) Removes the sandboxes of threads that were deleted. @throws {UnavailableError} when the registry is away
   */
  async removeForgotten(): Promise<void> {
    for (const sandbox of [...this.sandboxes.values()]) {
      if (sandbox.users > 0 || (await this.options.registry.binding(sandbox.spec)) !== null) continue;
      if (sandbox.users === 0 && this.sandboxes.get(keyOf(sandbox.spec)) === sandbox) await this.remove(sandbox);
    }
  }

  /** Forgets the sandboxes whose threads are bound to another manager, without touching what that one made of them. */
  async forgetForeign(): Promise<readonly ThreadKey[]> {
    const { registry, managerId } = this.options;
    const foreign: ThreadKey[] = [];
    for (const [key, sandbox] of this.sandboxes) {
      const record = await registry.binding(sandbox.spec);
      if (record?.managerId === managerId) continue;
      this.sandboxes.delete(key);
      foreign.push(sandbox.spec);
    }
    return foreign;
  }

  /** Removes all sandboxes, those that are just being made included, and makes no more; files stay. */
  async close(): Promise<void> {
    this.closed = true;
    const sandboxes = [...this.sandboxes.values()];
    await Promise.allSettled(sandboxes.map(({ ready }) => ready ?? Promise.resolve()));
    await Promise.all(sandboxes.map((sandbox) => this.remove(sandbox)));
    await Promise.all([...this.removals.values()]);
  }

  private remove(sandbox: ManagedSandbox): Promise<void> {
    const { sandboxId } = sandbox.spec;
    this.sandboxes.delete(keyOf(sandbox.spec));
    const removal = this.end(sandbox).finally(() => this.removals.delete(sandboxId));
    this.removals.set(sandboxId, removal);
    return removal;
  }

  /** Never rejects. */
  private async end(sandbox: ManagedSandbox): Promise<void> {
    const { sandboxId } = sandbox.spec;
    try {
      await sandbox.driver.remove(sandbox.spec);
    } catch (error) {
      // What stays behind is removed by the reaper, or by whoever uses the thread next (P2).
      this.options.logger.warn(
        { event: 'sandbox.remove', outcome: 'error', sandboxId, error },
        'a sandbox was not removed',
      );
    }
  }
}
