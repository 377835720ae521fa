import type { ThreadKey } from '@caribou/core';
import type { EndedRun } from './admission.js';

export interface DelayedRun extends ThreadKey {
  readonly runId: string;
}

/** What the start of a delayed run did to its thread; null: it was started or removed before, or its time has not come. */
export type DelayedStart = {
  /** Runs that were asked to stop, by the strategy of the run. */
  readonly cancelled: readonly string[];
  readonly action: 'interrupt' | 'rollback';
  readonly ended: readonly EndedRun[];
  /** Whether a run of the thread is under way: whoever ends it starts the next one. */
  readonly isUnderWay: boolean;
} | null;

/** Runs that wait for their time. All methods throw UnavailableError when Redis does not answer in time. */
export interface DelayedRuns {
  /** Runs whose time has come, at most `limit`, and ms until the next one is due (null: none). */
  listDue(limit: number): Promise<{ readonly runs: readonly DelayedRun[]; readonly waitMs: number | null }>;
  /** Puts a run into the inbox of its thread, once. */
  start(run: DelayedRun): Promise<DelayedStart>;
}
