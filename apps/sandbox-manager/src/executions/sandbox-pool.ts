import { NotFoundError, type SandboxDriverKind, UnavailableError } from '@caribou/contracts';
import type { SandboxRecord, ThreadKey } from '@caribou/core';
import type { SandboxDriver } from '@caribou/sandbox';
import { ExecutionLane } from './execution-lane.js';
import type { ManagedSandbox } from './managed-sandbox.js';
import { REPLACEMENT_NOTICE, withNotices } from './replacement-notice.js';
import { SandboxLifecycle, type SandboxLifecycleOptions } from './sandbox-lifecycle.js';
import { ThreadBindings, type ThreadBindingsOptions } from './thread-bindings.js';

export interface SandboxPoolOptions extends ThreadBindingsOptions, SandboxLifecycleOptions {
  /** Above this number, the least recently used idle sandboxes are removed; sandboxes in use may exceed it. */
  readonly maxSandboxes: number;
  /** A sandbox that was unused for longer than this is removed; milliseconds. */
  readonly idleMs: number;
  /** What the next result of a command says about the thread's files. */
  readonly fileNotice?: (thread: ThreadKey) => string | undefined;
  /** Called before a thread without a sandbox here is given to another manager; rejects while its files are not stored. */
  readonly beforeGiveUp?: (thread: ThreadKey) => Promise<void>;
  /** Called when a thread turns out to be bound to another manager. */
  readonly onForeign?: (thread: ThreadKey) => void;
  /** Commands of one thread that may wait for the running one. */
  readonly maxWaiting: number;
}

const keyOf = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;

/**
 * The sandboxes that this manager holds, one for each thread that is bound to it.
 *
 *  P1  A thread has one sandbox: its binding in the registry names one manager, and that manager has one sandbox for it.
 *  P2  Before a sandbox is used, everything that an earlier manager left running in it is ended.
 *  P3  The driver of a thread never changes.
 *  P4  Removing a sandbox ends its processes; its files remain, and the next use creates it again.
 *  P5  A sandbox in use is removed only when this process stops, when its thread was deleted, or by an administrator.
 *  P6  A sandbox that has disappeared is created again before its next use, and the result of the next command says so.
 *  P7  A sandbox whose thread has no binding belongs to a deleted thread and is removed; a new thread with the same id
 *      gets another sandbox.
 *  P8  Another manager takes a thread over when the bound one gave the thread or its lease back, or let the lease expire and did not renew it
 *      within `graceMs` after that was noticed: a jump of the store's clock makes the leases of live managers expire.
 *  P9  Commands that wait while an administrator ends their sandbox begin in a fresh one.
 */
export class SandboxPool {
  private readonly sandboxes = new Map<string, ManagedSandbox>();
  private readonly bindings: ThreadBindings;
  private readonly lifecycle: SandboxLifecycle;
  private closed = false;

  constructor(private readonly options: SandboxPoolOptions) {
    this.bindings = new ThreadBindings(options);
    this.lifecycle = new SandboxLifecycle(options);
  }

  /** How many sandboxes this manager holds. */
  get size(): number {
    return this.sandboxes.size;
  }

  /**
   * The thread's binding: the existing one if its manager is alive, otherwise a new one to this manager, whose sandbox
   * is then ready.
   *
   * @throws {FencedError} when `epoch` is not the thread's current one
   * @throws {UnavailableError} when no driver can be used, or the sandbox cannot be created
   */
  async acquire(thread: ThreadKey, epoch: number): Promise<SandboxRecord> {
    const { managerId, drivers, maxSandboxes } = this.options;
    await this.dropUnbound(thread);
    const record = await this.bindings.bind(thread, epoch, this.sandboxes.get(keyOf(thread))?.driver.kind);
    if (record.managerId === managerId) {
      const sandbox = this.getOrAdd(thread, record, await drivers.ofKind(record.driver));
      await this.use(sandbox, () => this.lifecycle.ensureAlive(sandbox));
      // The caller does not wait until older sandboxes are removed: removals never reject, and `close` awaits them.
      if (this.sandboxes.size > maxSandboxes) void this.removeIdle();
    }
    return record;
  }

  /** (P1) The thread's sandbox. This is synchronous, so that concurrent calls never add two. */
  private getOrAdd({ userId, threadId }: ThreadKey, record: SandboxRecord, driver: SandboxDriver): ManagedSandbox {
    const key = keyOf({ userId, threadId });
    const known = this.sandboxes.get(key);
    if (known !== undefined) return known;
    if (this.closed)
      throw new UnavailableError('this sandbox-manager is stopping', { details: { dependency: 'sandbox' } });
    const { managerId, maxWaiting, clock } = this.options;
    const spec = { sandboxId: record.sandboxId, managerId, userId, threadId };
    const sandbox: ManagedSandbox = {
      spec,
      driver: withNotices(driver, () => {
        const replacement = sandbox.replaced ? REPLACEMENT_NOTICE : '';
        sandbox.replaced = false;
        return replacement + (this.options.fileNotice?.(sandbox.spec) ?? '');
      }),
      lane: new ExecutionLane(maxWaiting),
      created: false,
      users: 0,
      replaced: false,
      lastUsedMs: clock.monotonicMs(),
    };
    this.sandboxes.set(key, sandbox);
    return sandbox;
  }

  /**
   * The sandbox that this manager holds for the thread.
   *
   * @throws {NotFoundError} when it holds none, or one with another id
   */
  requireHeld(thread: ThreadKey, sandboxId: string): ManagedSandbox {
    const sandbox = this.sandboxes.get(keyOf(thread));
    if (sandbox === undefined || sandbox.spec.sandboxId !== sandboxId) {
      throw new NotFoundError('this sandbox-manager does not hold that sandbox', {
        details: { resource: 'sandbox', id: sandboxId },
      });
    }
    sandbox.lastUsedMs = this.options.clock.monotonicMs();
    return sandbox;
  }

  /** (P5) Does `work` and returns its result; the sandbox counts as in use meanwhile. */
  async use<T>(sandbox: ManagedSandbox, work: () => Promise<T>): Promise<T> {
    sandbox.users += 1;
    try {
      return await work();
    } finally {
      sandbox.users -= 1;
      sandbox.lastUsedMs = this.options.clock.monotonicMs();
    }
  }

  /** Resolves when the sandbox can execute commands. @throws {UnavailableError} when it cannot be created */
  ensureReady(sandbox: ManagedSandbox): Promise<void> {
    return this.lifecycle.ensureReady(sandbox);
  }

  /**
   * (P6) Creates a sandbox again that has disappeared. `before` is its `readiness` from before the disappearance was
   * noticed: when several callers notice it, only the first one starts an attempt.
   *
   * @throws {UnavailableError} when the sandbox cannot be created, or no longer belongs to this manager
   */
  async replace(sandbox: ManagedSandbox, before: ManagedSandbox['readiness']): Promise<void> {
    if (this.sandboxes.get(keyOf(sandbox.spec)) !== sandbox)
      throw new UnavailableError('the sandbox has passed to another', { details: { dependency: 'sandbox' } });
    await this.lifecycle.replace(sandbox, before);
  }

  /** Whether the thread is bound to no manager that lives. @throws {UnavailableError} when the registry is unreachable */
  async isUnbound(thread: ThreadKey): Promise<boolean> {
    const { registry, managerId } = this.options;
    const record = await registry.binding(thread);
    return record === null || (record.managerId !== managerId && !(await registry.isManagerAlive(record.managerId)));
  }

  /** Whether no other manager that lives has the thread. @throws {UnavailableError} when the registry is unreachable */
  async isHeldOrUnbound(thread: ThreadKey): Promise<boolean> {
    const { registry, managerId } = this.options;
    return (await registry.binding(thread))?.managerId === managerId || this.isUnbound(thread);
  }

  /**
   * Binds a thread to this manager whose manager is gone, without making a sandbox; false when it has none, or one that lives.
   *
   * @throws {UnavailableError} when the registry is unreachable, or no sandbox of the thread's driver is possible here
   */
  async takeOver(thread: ThreadKey): Promise<boolean> {
    return !this.closed && (await this.bindings.inherit(thread));
  }

  /** The sandbox of a thread that is bound to this manager. @throws {UnavailableError} when the registry is unreachable */
  async findBound(thread: ThreadKey): Promise<ManagedSandbox | undefined> {
    const record = await this.options.registry.binding(thread);
    return record?.managerId === this.options.managerId ? this.sandboxes.get(keyOf(thread)) : undefined;
  }

  /** All sandboxes that exist. */
  list(): readonly ManagedSandbox[] {
    return [...this.sandboxes.values()].filter(
      ({ readiness, sinceMs }) => readiness !== undefined && sinceMs !== undefined,
    );
  }

  /**
   * (P9) Ends a sandbox for an administrator; requests at the same time share the end.
   *
   * @throws {UnavailableError} when the driver has failed to remove it
   */
  async end(sandbox: ManagedSandbox, stopCommands: () => Promise<unknown>): Promise<void> {
    sandbox.ending ??= this.lifecycle.end(sandbox, stopCommands).finally(() => {
      delete sandbox.ending;
    });
    await sandbox.ending;
    const key = keyOf(sandbox.spec);
    if (sandbox.users === 0 && this.sandboxes.get(key) === sandbox) this.sandboxes.delete(key);
  }

  /** Whether this manager holds a sandbox for the thread. */
  holdsThread(thread: ThreadKey): boolean {
    return this.sandboxes.has(keyOf(thread));
  }

  /** The threads for which this manager holds a sandbox. */
  threads(): readonly ThreadKey[] {
    return [...this.sandboxes.values()].map(({ spec: { userId, threadId } }) => ({ userId, threadId }));
  }

  /**
   * Removes the sandbox of a thread that is given to another manager, when its files are stored.
   *
   * @throws {UnavailableError} when the driver has failed to remove it, or its files are not stored yet
   */
  async giveUp(thread: ThreadKey): Promise<void> {
    const sandbox = this.sandboxes.get(keyOf(thread));
    if (sandbox === undefined) return this.options.beforeGiveUp?.(thread);
    if (await this.remove(sandbox)) return;
    // The next attempt removes it again.
    this.sandboxes.set(keyOf(thread), sandbox);
    throw new UnavailableError('the sandbox was not removed, or its files are not stored yet', {
      details: { dependency: 'sandbox' },
    });
  }

  /** The driver of a sandbox that this manager holds. */
  driverOf(sandboxId: string): SandboxDriverKind | undefined {
    return [...this.sandboxes.values()].find(({ spec }) => spec.sandboxId === sandboxId)?.driver.kind;
  }

  /** Whether this manager holds the sandbox, or is removing it. */
  holds(sandboxId: string): boolean {
    return (
      this.lifecycle.isRemoving(sandboxId) ||
      [...this.sandboxes.values()].some(({ spec }) => spec.sandboxId === sandboxId)
    );
  }

  /** Answers at the end of a run whether this manager held its sandbox, which is removed only after it was idle. */
  release(thread: ThreadKey, sandboxId: string): boolean {
    return this.sandboxes.get(keyOf(thread))?.spec.sandboxId === sandboxId;
  }

  /** (P4) Removes unused sandboxes: those that were idle for long, and as many others as exceed the maximum. */
  async removeIdle(): Promise<void> {
    const { clock, idleMs, maxSandboxes } = this.options;
    const oldestFirst = [...this.sandboxes.values()]
      .filter((sandbox) => sandbox.users === 0)
      .sort((left, right) => left.lastUsedMs - right.lastUsedMs);
    const excess = this.sandboxes.size - maxSandboxes;
    const nowMs = clock.monotonicMs();
    await Promise.all(
      oldestFirst
        .filter((sandbox, index) => index < excess || nowMs - sandbox.lastUsedMs > idleMs)
        .map((sandbox) => this.remove(sandbox)),
    );
  }

  /**
   * (P7) Drops the thread's sandbox when the thread is no longer bound to this manager. If its id is bound to another
   * manager by now, that one may have a sandbox with the same name, so nothing is removed.
   */
  private async dropUnbound(thread: ThreadKey): Promise<void> {
    const sandbox = this.sandboxes.get(keyOf(thread));
    if (sandbox === undefined) return;
    const record = await this.options.registry.binding(thread);
    if (record?.managerId === this.options.managerId || this.sandboxes.get(keyOf(thread)) !== sandbox) return;
    if (record === null) void this.remove(sandbox);
    else this.abandon(sandbox);
  }

  /** (P5, P7) Removes the sandboxes of deleted threads. @throws {UnavailableError} when the registry is unreachable */
  async removeUnbound(): Promise<void> {
    for (const sandbox of [...this.sandboxes.values()]) {
      if (sandbox.users > 0 || (await this.options.registry.binding(sandbox.spec)) !== null) continue;
      if (sandbox.users === 0 && this.sandboxes.get(keyOf(sandbox.spec)) === sandbox) await this.remove(sandbox);
    }
  }

  /** Drops the sandboxes of threads that are bound to another manager, without removing what that one created. */
  async dropForeign(): Promise<readonly ThreadKey[]> {
    const { registry, managerId } = this.options;
    const foreign: ThreadKey[] = [];
    for (const sandbox of this.sandboxes.values()) {
      const record = await registry.binding(sandbox.spec);
      if (record?.managerId === managerId) continue;
      this.abandon(sandbox);
      foreign.push(sandbox.spec);
    }
    return foreign;
  }

  private abandon({ spec }: ManagedSandbox): void {
    this.sandboxes.delete(keyOf(spec));
    this.options.onForeign?.(spec);
  }

  /** Removes all sandboxes, also those that are being created, and creates no more; files remain. */
  async close(): Promise<void> {
    this.closed = true;
    const sandboxes = [...this.sandboxes.values()];
    await Promise.allSettled(sandboxes.map(({ readiness }) => readiness ?? Promise.resolve()));
    await Promise.all(sandboxes.map((sandbox) => this.remove(sandbox)));
    await this.lifecycle.waitForRemovals();
  }

  private remove(sandbox: ManagedSandbox): Promise<boolean> {
    this.sandboxes.delete(keyOf(sandbox.spec));
    return this.lifecycle.remove(sandbox);
  }
}
