import type { ThreadKey } from '@caribou/core';

export interface SlotLimits {
  /** Concurrent tasks in all pools together. */
  readonly maxRunning: number;
  /** Concurrent tasks of one user. */
  readonly maxRunningPerUser: number;
}

/** The right to execute a task; it expires one lease time after its process died. */
export interface TaskSlot extends ThreadKey {
  readonly token: string;
}

/** The run that delegated a task. */
export interface TaskParent {
  readonly userId: string;
  readonly runId: string;
}

/** State of the parent run: `over` when it was cancelled or has ended, `gone` when it does not exist any more. */
export type ParentState = 'live' | 'over' | 'gone';

/**
 * Schedules the waiting tasks of all pools together, by the store's clock.
 *
 * S1 There are never more slots than the limits allow. A slot that was not renewed in time is lost permanently.
 * S2 A task whose pool died is resumed before others; else the user with the fewest running tasks is next, and of that
 *    user the task that has waited longest.
 * S3 A task that ended holds no slot, whether or not it was released.
 */
export interface TaskSlots {
  /** Acquires a slot for the next task; null when none may run now. */
  acquire(limits: SlotLimits): Promise<TaskSlot | null>;
  /** Prolongs a slot and returns the parent's state. @throws {FencedError} when it is lost */
  renew(slot: TaskSlot, parent: TaskParent): Promise<ParentState>;
  /** The parent's state; needs and prolongs no slot. */
  parentState(parent: TaskParent): Promise<ParentState>;
  /** Releases a slot; its task is next unless it has ended. No effect when the slot was lost. */
  release(slot: TaskSlot): Promise<void>;
}
