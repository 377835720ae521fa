import type { Wake, WakePull, Wakes } from '@caribou/bus';
import { FencedError, UnavailableError } from '@caribou/contracts';
import type { Clock, Logger, SlotLimits, TaskSlot, TaskSlots } from '@caribou/core';
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
  /** Tasks this process works on at once. */
  readonly ownSlots: number;
  /** Limits over all pools. */
  readonly limits: SlotLimits;
  /** Pause before another task is taken, when one is still held by another pool. */
  readonly busyMs: number;
}

/**
 * Works on tasks, each in a slot of its own. A wake only says that there may be something to do: which task is next is
 * decided in the store, for all pools together.
 *
 * T1 A wake is acknowledged before its work begins: it stands for no task, so holding it would keep others from hearing
 *    of the task it names.
 * T2 Whoever frees a slot asks for the next task himself; so as long as tasks wait, no slot is idle for want of a wake.
 * T3 What a crash leaves behind is found by the sweep of any pool.
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

  /** Begins with the task whose turn it is, whichever a sweep has found. */
  take(): boolean {
    return !this.draining && this.pull !== undefined && this.pull.occupy(() => this.workOnAll());
  }

  /** Takes no new task, lets those that run reach their border within `graceMs`, hands them over. */
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

  /** Works on one task after the other, as long as it is the turn of one. */
  private async workOnAll(): Promise<void> {
    try {
      while (!this.draining && (await this.workOnNext()));
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      this.options.logger.warn({ event: 'task.take', outcome: 'error', error }, 'no task taken; a sweep tries again');
    }
  }

  /** Whether there was one. */
  private async workOnNext(): Promise<boolean> {
    const slot = await this.options.slots.acquire(this.options.limits);
    if (slot === null) return false;
    const again = await this.workOn(slot);
    if (again) await this.options.wakes.publish(slot);
    return true;
  }

  /** Whether the task goes on elsewhere. */
  private async workOn(slot: TaskSlot): Promise<boolean> {
    const { held, executor, slots, clock, busyMs, logger } = this.options;
    const task = held.add(slot);
    try {
      const handling = await executor.handle(slot, () => undefined);
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
