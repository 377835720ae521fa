import type { ThreadKey } from '../util/thread-key.js';

export interface SlotLimits {
  /** Tasks that run at once, over all pools. */
  readonly maxRunning: number;
  /** Tasks of one user that run at once. */
  readonly maxRunningPerUser: number;
}

/** The right to work on a task; gone a lease time after its process. */
export interface TaskSlot extends ThreadKey {
  readonly token: string;
}

/** The run that a task was made for. */
export interface TaskParent {
  readonly userId: string;
  readonly runId: string;
}

/** Whether somebody still wants the result: the parent is told to stop or has ended; or nothing is left of it. */
export type ParentState = 'live' | 'over' | 'gone';

/**
 * Which of the waiting tasks may run, decided for all pools together, by the store's clock.
 *
 * S1 Never more slots than the limits say. A slot that was not renewed in time is lost for good.
 * S2 A task whose pool died goes on before others; else the user with the fewest running tasks is next, and of that
 *    user the task that has waited longest.
 * S3 A task that ended holds no slot, whether or not it was given back.
 */
export interface TaskSlots {
  /** A slot for the task whose turn it is; null when none may run now. */
  acquire(limits: SlotLimits): Promise<TaskSlot | null>;
  /** Prolongs a slot and looks at the parent. @throws {FencedError} when it is lost */
  renew(slot: TaskSlot, parent: TaskParent): Promise<ParentState>;
  /** How the parent stands; slots are neither needed nor prolonged. */
  parentState(parent: TaskParent): Promise<ParentState>;
  /** Gives a slot back; a task that has not ended is next. Nothing happens when it was lost. */
  release(slot: TaskSlot): Promise<void>;
}
