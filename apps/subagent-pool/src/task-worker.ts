import type { Wake, WakePull, Wakes } from '@caribou/bus';
import { FencedError, UnavailableError } from '@caribou/contracts';
import type { Clock, Logger } from '@caribou/core';
import type { SlotLimits, TaskSlot, TaskSlots } from '@caribou/state';
import type { DirectWorker, RunExecutor, RunRegistry } from '@caribou/runs';
import type { HeldTasks } from './held-tasks.js';

export interface TaskWorkerOptions {
  readonly wakes: Pick<Wakes, 'publish' | 'pull'>;
  readonly slots: TaskSlots;
  readonly held: HeldTasks;
  readonly executor: Pick<RunExecutor, 'handle'>;
  readonly registry: Pick<RunRegistry, 'drain'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Tasks that this process executes at once. */
  readonly ownSlots: number;
  /** Limits of running tasks over all pools. */
  readonly limits: SlotLimits;
  /** Pause before the next task when the acquired one is still held by another pool. */
  readonly busyMs: number;
}

/**
 * Executes tasks, each in its own slot. A notification (wake) only means that tasks may be waiting: the store decides
 * which task is next, for all pools together.
 *
 * T1 A notification is acknowledged before its work begins. It is not bound to a task, so holding it would only prevent
 *    other pools from learning of the task that it names.
 * T2 A pool that releases a slot acquires the next task itself. While tasks wait, no slot is idle for lack of a
 *    notification.
 * T3 After a crash, the sweep of any pool finds the unfinished tasks.
 */
export class TaskWorker implements DirectWorker {
  private pull: WakePull | undefined;
  private draining = false;

  constructor(private readonly options: TaskWorkerOptions) {}

  start(): void {
    const { wakes, ownSlots: slots } = this.options;
    this.pull = wakes.pull({ slots, handle: (wake) => this.handle(wake) });
  }

  get failingMs(): number {
    return this.pull?.failingMs ?? 0;
  }

  /** Starts to work on the next task in the order of the store, not necessarily the one that a sweep has found. */
  take(): boolean {
    return !this.draining && this.pull !== undefined && this.pull.occupy(() => this.workOnAll());
  }

  /** Takes no new tasks. Running tasks are handed over at their next commit, at the latest after `graceMs`. */
  async drain(graceMs: number): Promise<void> {
    this.draining = true;
    this.pull?.stop();
    await this.options.registry.drain(graceMs);
    await this.pull?.idle();
  }

  private async handle(wake: Wake): Promise<void> {
    await wake.ack();
    await this.workOnAll();
  }

  /** Works on one task after the other while the store grants slots. */
  private async workOnAll(): Promise<void> {
    try {
      while (!this.draining && (await this.workOnNext()));
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      this.options.logger.warn({ event: 'task.take', outcome: 'error', error }, 'no task taken; a sweep tries again');
    }
  }

  /** Works on the next task; returns false when no task waits or no slot is free. */
  private async workOnNext(): Promise<boolean> {
    const slot = await this.options.slots.acquire(this.options.limits);
    if (slot === null) return false;
    const again = await this.workOn(slot);
    if (again) await this.options.wakes.publish(slot);
    return true;
  }

  /** Works on the task in the slot; returns true when the task was handed over to another pool. */
  private async workOn(slot: TaskSlot): Promise<boolean> {
    const { held, executor, slots, clock, busyMs, logger } = this.options;
    const task = held.add(slot);
    try {
      const handling = await executor.handle(slot);
      if (handling.kind === 'busy') await clock.sleep(busyMs);
      return handling.kind === 'handed_over';
    } catch (error) {
      if (!(error instanceof FencedError)) throw error;
      logger.warn({ event: 'task.take', outcome: 'fenced', threadId: slot.threadId, error }, 'a slot was lost');
      return false;
    } finally {
      held.remove(task);
      await slots.release(slot);
    }
  }
}
