import { NotFoundError } from '@caribou/contracts';
import type { Clock, Logger, SandboxDriverKind, SandboxRecord, SandboxRegistry, SandboxThread } from '@caribou/core';
import type { BoxSpec, SandboxDriver, SandboxDrivers } from '@caribou/sandbox';
import { ExecutionLane } from './execution-lane.js';

/** A sandbox that this manager holds. */
export interface Box {
  readonly spec: BoxSpec;
  readonly driver: SandboxDriver;
  readonly lane: ExecutionLane;
  /** Set while the box is being made or is ready; absent when it has to be made first. */
  ready?: Promise<void>;
  /** False until this process has made it once: before that, what runs in it is a predecessor's. */
  made: boolean;
  lastUsedMs: number;
}

export interface SandboxPoolOptions {
  readonly managerId: string;
  readonly registry: SandboxRegistry;
  readonly drivers: SandboxDrivers;
  readonly sandboxIdOf: (thread: SandboxThread) => string;
  readonly onReady?: (durationMs: number) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Beyond this many, the longest unused box goes. */
  readonly maxBoxes: number;
  /** A box unused for this long goes, in milliseconds. */
  readonly idleMs: number;
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
 */
export class SandboxPool {
  private readonly boxes = new Map<string, Box>();

  constructor(private readonly options: SandboxPoolOptions) {}

  /**
   * The thread's binding: an existing one whose manager lives, whoever that is, or a new one to this manager with its
   * box made ready.
   *
   * @throws {FencedError} when `epoch` is not the thread's current one
   * @throws {UnavailableError} when no driver can be used, or the box cannot be made
   */
  async acquire(thread: SandboxThread, epoch: number): Promise<SandboxRecord> {
    const { registry, managerId, sandboxIdOf, drivers } = this.options;
    const driver = this.boxes.get(keyOf(thread))?.driver.kind ?? (await this.proposedKind(thread));
    const record = await registry.bind(thread, { managerId, sandboxId: sandboxIdOf(thread), driver, epoch });
    if (record.managerId === managerId)
      await this.ready(this.boxFor(thread, record, await drivers.ofKind(record.driver)));
    return record;
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
    const { managerId, maxWaiting, clock } = this.options;
    const spec = { sandboxId: record.sandboxId, managerId, userId, threadId };
    const box: Box = {
      spec,
      driver,
      lane: new ExecutionLane(maxWaiting),
      made: false,
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

  /** Resolves when the box is ready for commands. One attempt at a time; a failed one is repeated by the next caller. */
  async ready(box: Box): Promise<void> {
    box.ready ??= this.make(box);
    const attempt = box.ready;
    try {
      await attempt;
    } catch (error) {
      if (box.ready === attempt) delete box.ready;
      throw error;
    }
  }

  private async make(box: Box): Promise<void> {
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

  /** Makes a box again that went away. */
  async remake(box: Box): Promise<void> {
    delete box.ready;
    await this.ready(box);
  }

  /** The run is over; whether this manager held the box. What is idle for long is removed later. */
  release(thread: SandboxThread, sandboxId: string): boolean {
    return this.boxes.get(keyOf(thread))?.spec.sandboxId === sandboxId;
  }

  /** (P4) Removes what is unused for long, or unused and too many. */
  async removeIdle(): Promise<void> {
    const { clock, idleMs, maxBoxes } = this.options;
    const oldestFirst = [...this.boxes.values()]
      .filter((box) => !box.lane.busy)
      .sort((left, right) => left.lastUsedMs - right.lastUsedMs);
    const excess = this.boxes.size - maxBoxes;
    const nowMs = clock.monotonicMs();
    await Promise.all(
      oldestFirst
        .filter((box, index) => index < excess || nowMs - box.lastUsedMs > idleMs)
        .map((box) => this.remove(box)),
    );
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

  /** Removes all boxes; files stay. */
  async close(): Promise<void> {
    await Promise.all([...this.boxes.values()].map((box) => this.remove(box)));
  }

  private async remove(box: Box): Promise<void> {
    this.boxes.delete(keyOf(box.spec));
    const { sandboxId } = box.spec;
    try {
      await box.driver.remove(box.spec);
    } catch (error) {
      // What stays behind is ended by whoever uses the thread next (P2).
      this.options.logger.warn(
        { event: 'sandbox.remove', outcome: 'error', sandboxId, error },
        'a sandbox was not removed',
      );
    }
  }
}
