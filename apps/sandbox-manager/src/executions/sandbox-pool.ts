import { NotFoundError, type SandboxDriverKind, UnavailableError } from '@caribou/contracts';
import type { Clock, Logger, SandboxProposal, SandboxRecord, SandboxRegistry, SandboxThread } from '@caribou/core';
import type { SandboxDriver, SandboxDrivers } from '@caribou/sandbox';
import type { Box } from './box.js';
import { ExecutionLane } from './execution-lane.js';
import { tellingOfReplacement } from './replacement-notice.js';

export interface SandboxPoolOptions {
  readonly managerId: string;
  readonly registry: SandboxRegistry;
  readonly drivers: SandboxDrivers;
  readonly sandboxIdOf: (thread: SandboxThread) => string;
  readonly onReady?: (durationMs: number) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Beyond this many, the longest unused box goes; more of them in use at once are let be. */
  readonly maxBoxes: number;
  /** A box unused for this long goes, in milliseconds. */
  readonly idleMs: number;
  /** Longer than the time between two renewals of a manager's lease; milliseconds. */
  readonly graceMs: number;
  /** Commands of one thread that may wait for the one that runs. */
  readonly maxWaiting: number;
}

const keyOf = ({ userId, threadId }: SandboxThread): string => `${userId}/${threadId}`;

/**
 * The sandboxes this manager holds.
 *
 *  P1  a thread has one sandbox: its binding in the registry names one manager, and that manager has one box for it
 *  P2  the first thing done to a box is to end what an earlier manager left in it
 *  P3  the driver of a thread never changes
 *  P4  a box that goes, goes with its processes; its files stay, and the next use makes it again
 *  P5  a box in use is never removed, but when this process stops or its thread was deleted
 *  P6  a box that went away by itself is made again before its next use, and the next command's result says so
 *  P7  a box whose thread has lost its binding is of a deleted thread: it goes, and a new thread of that id gets another one
 *  P8  a manager is followed by another when it gave its lease up, or has let it run out and did not renew it for
 *      `graceMs` after that was seen: when the store's clock jumps, leases of managers that live run out
 */
export class SandboxPool {
  private readonly boxes = new Map<string, Box>();
  /** Removals under way, by sandbox id: a box is made again only after its removal. */
  private readonly removals = new Map<string, Promise<void>>();
  private closed = false;

  constructor(private readonly options: SandboxPoolOptions) {}

  /**
   * The thread's binding: an existing one whose manager lives, whoever that is, or a new one to this manager with its
   * box made ready.
   *
   * @throws {FencedError} when `epoch` is not the thread's current one
   * @throws {UnavailableError} when no driver can be used, or the box cannot be made
   */
  async acquire(thread: SandboxThread, epoch: number): Promise<SandboxRecord> {
    const { managerId, sandboxIdOf, drivers } = this.options;
    await this.dropForgotten(thread);
    const driver = this.boxes.get(keyOf(thread))?.driver.kind ?? (await this.proposedKind(thread));
    const record = await this.bind(thread, { managerId, sandboxId: sandboxIdOf(thread), driver, epoch });
    if (record.managerId === managerId) {
      const box = this.boxFor(thread, record, await drivers.ofKind(record.driver));
      await this.using(box, () => this.readyAndAlive(box));
      // Nobody waits for what has to go for this one: removals never reject, and `close` awaits them.
      if (this.boxes.size > this.options.maxBoxes) void this.removeIdle();
    }
    return record;
  }

  /** (P8) The binding after the proposal. */
  private async bind(thread: SandboxThread, proposal: SandboxProposal): Promise<SandboxRecord> {
    const { registry, clock, graceMs } = this.options;
    const { lapse, ...record } = await registry.bind(thread, proposal);
    if (lapse === undefined) return record;
    await clock.sleep(graceMs);
    const { lapse: _again, ...since } = await registry.bind(thread, { ...proposal, lapse });
    return since;
  }

  /** (P3) The driver to propose for a thread: one this manager can use, unless another manager holds the thread alive. */
  private async proposedKind(thread: SandboxThread): Promise<SandboxDriverKind> {
    const { registry, drivers, managerId } = this.options;
    const existing = await registry.binding(thread);
    if (existing === null) return (await drivers.forNewThread()).kind;
    if (existing.managerId !== managerId && (await registry.isManagerAlive(existing.managerId))) return existing.driver;
    return (await drivers.ofKind(existing.driver)).kind;
  }

  /** (P1) Synchronous between look and store. */
  private boxFor({ userId, threadId }: SandboxThread, record: SandboxRecord, driver: SandboxDriver): Box {
    const key = keyOf({ userId, threadId });
    const known = this.boxes.get(key);
    if (known !== undefined) return known;
    if (this.closed)
      throw new UnavailableError('this sandbox-manager is stopping', { details: { dependency: 'sandbox' } });
    const { managerId, maxWaiting, clock } = this.options;
    const spec = { sandboxId: record.sandboxId, managerId, userId, threadId };
    const box: Box = {
      spec,
      driver: tellingOfReplacement(driver, () => {
        const { replaced } = box;
        box.replaced = false;
        return replaced;
      }),
      lane: new ExecutionLane(maxWaiting),
      made: false,
      users: 0,
      replaced: false,
      lastUsedMs: clock.monotonicMs(),
    };
    this.boxes.set(key, box);
    return box;
  }

  /** The box this manager holds for the thread. @throws {NotFoundError} when it holds none, or another than the caller means */
  held(thread: SandboxThread, sandboxId: string): Box {
    const box = this.boxes.get(keyOf(thread));
    if (box === undefined || box.spec.sandboxId !== sandboxId) {
      throw new NotFoundError('this sandbox-manager does not hold that sandbox', {
        details: { resource: 'sandbox', id: sandboxId },
      });
    }
    box.lastUsedMs = this.options.clock.monotonicMs();
    return box;
  }

  /** (P5) The result of `work`, which needs the box. */
  async using<T>(box: Box, work: () => Promise<T>): Promise<T> {
    box.users += 1;
    try {
      return await work();
    } finally {
      box.users -= 1;
      box.lastUsedMs = this.options.clock.monotonicMs();
    }
  }

  /** (P6) A box that others are working in needs no look: they find out themselves. */
  private async readyAndAlive(box: Box): Promise<void> {
    const seen = box.ready;
    await this.ready(box);
    if (seen === undefined || box.users > 1 || (await box.driver.isAlive(box.spec))) return;
    await this.replace(box, seen);
  }

  /** Resolves when the box is ready for commands. One attempt at a time; a failed one is repeated by the next caller. */
  async ready(box: Box): Promise<void> {
    box.ready ??= this.make(box);
    const attempt = box.ready;
    try {
      await attempt;
    } catch (error) {
      if (box.ready === attempt) {
        delete box.ready;
        const { sandboxId } = box.spec;
        this.options.logger.warn({ event: 'sandbox.ready', outcome: 'error', sandboxId, error }, 'sandbox not ready');
      }
      throw error;
    }
  }

  private async make(box: Box): Promise<void> {
    await this.removals.get(box.spec.sandboxId);
    const beganMs = this.options.clock.monotonicMs();
    await box.driver.create(box.spec, { fresh: !box.made });
    box.made = true;
    const { sandboxId, userId, threadId } = box.spec;
    const durationMs = this.options.clock.monotonicMs() - beganMs;
    this.options.onReady?.(durationMs);
    this.options.logger.info(
      { event: 'sandbox.ready', outcome: 'ok', driver: box.driver.kind, sandboxId, userId, threadId, durationMs },
      'sandbox ready',
    );
  }

  /**
   * (P6) Makes a box again that went away, `seen` being its readiness before that: whoever comes second waits for the
   * first one's.
   *
   * @throws {UnavailableError} when it cannot be made, or is not this manager's any more
   */
  async replace(box: Box, seen: Box['ready']): Promise<void> {
    const { sandboxId, userId, threadId } = box.spec;
    if (this.boxes.get(keyOf(box.spec)) !== box)
      throw new UnavailableError('the sandbox has passed to another', { details: { dependency: 'sandbox' } });
    if (box.ready === seen) {
      delete box.ready;
      box.replaced = true;
      this.options.logger.warn(
        { event: 'sandbox.replace', sandboxId, userId, threadId },
        'a sandbox had gone away and is made again',
      );
    }
    await this.ready(box);
  }

  /** The driver of a sandbox that this manager holds. */
  driverOf(sandboxId: string): SandboxDriverKind | undefined {
    return [...this.boxes.values()].find(({ spec }) => spec.sandboxId === sandboxId)?.driver.kind;
  }

  /** Whether this manager holds the sandbox, or is removing it. */
  holds(sandboxId: string): boolean {
    return this.removals.has(sandboxId) || [...this.boxes.values()].some(({ spec }) => spec.sandboxId === sandboxId);
  }

  /** The run is over; whether this manager held the box. What is idle for long is removed later. */
  release(thread: SandboxThread, sandboxId: string): boolean {
    return this.boxes.get(keyOf(thread))?.spec.sandboxId === sandboxId;
  }

  /** (P4) Removes what is unused for long, or unused and too many. */
  async removeIdle(): Promise<void> {
    const { clock, idleMs, maxBoxes } = this.options;
    const oldestFirst = [...this.boxes.values()]
      .filter((box) => box.users === 0)
      .sort((left, right) => left.lastUsedMs - right.lastUsedMs);
    const excess = this.boxes.size - maxBoxes;
    const nowMs = clock.monotonicMs();
    await Promise.all(
      oldestFirst
        .filter((box, index) => index < excess || nowMs - box.lastUsedMs > idleMs)
        .map((box) => this.remove(box)),
    );
  }

  /** (P7) Also of a thread whose id was used again under another manager since, which may have a box of that name by now. */
  private async dropForgotten(thread: SandboxThread): Promise<void> {
    const box = this.boxes.get(keyOf(thread));
    if (box === undefined) return;
    const record = await this.options.registry.binding(thread);
    if (record?.managerId === this.options.managerId || this.boxes.get(keyOf(thread)) !== box) return;
    if (record === null) void this.remove(box);
    else this.boxes.delete(keyOf(thread));
  }

  /** (P5, P7) Removes the boxes of threads that were deleted. @throws {UnavailableError} when the registry is away */
  async removeForgotten(): Promise<void> {
    for (const box of [...this.boxes.values()]) {
      if (box.users > 0 || (await this.options.registry.binding(box.spec)) !== null) continue;
      if (box.users === 0 && this.boxes.get(keyOf(box.spec)) === box) await this.remove(box);
    }
  }

  /** Forgets the boxes whose threads are bound to another manager, without touching what that one made of them. */
  async forgetForeign(): Promise<readonly SandboxThread[]> {
    const { registry, managerId } = this.options;
    const foreign: SandboxThread[] = [];
    for (const [key, box] of this.boxes) {
      const record = await registry.binding(box.spec);
      if (record?.managerId === managerId) continue;
      this.boxes.delete(key);
      foreign.push(box.spec);
    }
    return foreign;
  }

  /** Removes all boxes, those that are just being made included, and makes no more; files stay. */
  async close(): Promise<void> {
    this.closed = true;
    const boxes = [...this.boxes.values()];
    await Promise.allSettled(boxes.map(({ ready }) => ready ?? Promise.resolve()));
    await Promise.all(boxes.map((box) => this.remove(box)));
    await Promise.all([...this.removals.values()]);
  }

  private remove(box: Box): Promise<void> {
    const { sandboxId } = box.spec;
    this.boxes.delete(keyOf(box.spec));
    const removal = this.end(box).finally(() => this.removals.delete(sandboxId));
    this.removals.set(sandboxId, removal);
    return removal;
  }

  /** Never rejects. */
  private async end(box: Box): Promise<void> {
    const { sandboxId } = box.spec;
    try {
      await box.driver.remove(box.spec);
    } catch (error) {
      // What stays behind is removed by the reaper, or by whoever uses the thread next (P2).
      this.options.logger.warn(
        { event: 'sandbox.remove', outcome: 'error', sandboxId, error },
        'a sandbox was not removed',
      );
    }
  }
}
