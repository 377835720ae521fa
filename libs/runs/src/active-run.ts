import type { GoalChange, RunEvent, RunRecord, StateUpdate, ThreadState } from '@caribou/contracts';
import type { CallUsage, Clock, Logger, SandboxPort, ThreadKey, UnpublishedFiles } from '@caribou/core';
import type { ClaimResult, FinishResult, RunStore, ThreadHead, WaitingMessage } from '@caribou/state';
import type { EventWriter } from './events/event-writer.js';
import type { LeaseKeeper } from './leases/lease-keeper.js';
import type { RunMetrics } from './run-metrics.js';
import type { RunRecording } from './run-recording.js';

export type Claimed = Extract<ClaimResult, { kind: 'run' }>;

/** Changes that an agent makes to a run that was cancelled. */
export interface CancellationResult {
  /** An update of the thread's state; ignored when the run is rolled back. */
  readonly update?: StateUpdate;
  /** Model calls of the run that are not part of any commit. */
  readonly calls?: readonly CallUsage[];
  /** Events that are published before the end, unless the run is rolled back. */
  readonly events?: readonly RunEvent[];
}

/** Called once the run's work has stopped. It is not cancelled itself, so it must end soon by itself. */
export type AfterCancel = (run: {
  readonly state: ThreadState;
  readonly record: RunRecord;
  readonly logger: Logger;
}) => Promise<CancellationResult>;

/** The ports and settings that all runs of a process use. */
export interface RunPorts {
  readonly store: RunStore;
  readonly clock: Clock;
  readonly metrics: RunMetrics;
  readonly afterCancel?: AfterCancel;
  /**
   * Called before an input withdraws the interrupts of `state`, which nobody can answer any more. Idempotent; what it throws ends
   * the attempt.
   */
  readonly beforeWithdrawal?: (withdrawn: { readonly userId: string; readonly state: ThreadState }) => Promise<void>;
  /**
   * Asks a manager to store the files of a thread that it has not stored yet, so that a run which begins now can be taken back without
   * losing them. Ends within a deadline and never rejects.
   */
  readonly settleFiles?: (thread: ThreadKey, holder: Pick<UnpublishedFiles, 'managerId' | 'machine'>) => Promise<void>;
  /** The sandboxes in which the agent's tools are executed. */
  readonly sandbox?: Pick<SandboxPort, 'cancel'>;
  /** Called once the end of a run that memory may learn from is written. Neither waits nor throws. */
  readonly onMemoryQueued?: (thread: ThreadKey) => void;
}

/** A run while this process executes it. */
export interface ActiveRun {
  readonly claimed: Claimed;
  readonly ports: RunPorts;
  readonly keeper: LeaseKeeper;
  readonly writer: EventWriter;
  readonly logger: Logger;
  readonly recording: RunRecording;
  readonly isDraining: () => boolean;
  /** When the current turn began, on the monotonic clock. */
  turnStartMs: number;
  /** Whether memory may learn from the conversation; has an effect when the run finishes. */
  isMemorable: boolean;
  /** Whether a budget of the user is used up, as far as the commits of this attempt know. */
  isBudgetSpent: boolean;
  /** What waits for the slot since the run has ended. */
  after: Pick<FinishResult, 'more' | 'queueIsEmpty'>;
  /** The head after the last commit. */
  head: ThreadHead;
  /** Messages that wait to join the run, as the claim or the last commit found them. */
  waiting: readonly WaitingMessage[];
  /** What a client asked of the goal, as the claim or the last commit found it. */
  goalChange: GoalChange | undefined;
  /** Whether the run is to stop before its next step. */
  isPaused: boolean;
  /** Model turns of the run, in all attempts, that are committed. */
  turnsTaken: number;
}
