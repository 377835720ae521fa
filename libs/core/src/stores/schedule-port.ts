import type { ThreadKey } from '../util/thread-key.js';

/** A run that stops the schedule of the task that has started it. */
export interface ScheduleStop extends ThreadKey {
  readonly runId: string;
  /** The caller's epoch of the thread's lease. */
  readonly epoch: number;
  readonly taskId: string;
}

/**
 * `stopped`: the task is paused, by this call or an earlier one of the run. `over`: it has no due times anyhow. `foreign`: it has
 * not started this run, or was deleted.
 */
export type ScheduleStopOutcome = 'stopped' | 'over' | 'foreign';

/** Port to the schedules of users, as far as the agents of their runs may change them. */
export interface SchedulePort {
  /**
   * Pauses a scheduled task until a person resumes it. One atomic step; a run does so once, however often it asks.
   *
   * @throws {FencedError} when `epoch` is not the thread's current lease epoch
   * @throws {UnavailableError} when the store does not answer in time
   */
  stop(stop: ScheduleStop): Promise<ScheduleStopOutcome>;
}
