import type { RunEvent, RunRecord, StateUpdate, ThreadState } from '@caribou/contracts';
import type {
  CallUsage,
  ClaimResult,
  Clock,
  Logger,
  RunStore,
  SandboxPort,
  ThreadHead,
  ThreadKey,
} from '@caribou/core';
import type { EventWriter } from './events/event-writer.js';
import type { LeaseKeeper } from './lease-keeper.js';
import type { RunMetrics } from './run-metrics.js';
import type { RunRecording } from './run-recording.js';

export type Claimed = Extract<ClaimResult, { kind: 'run' }>;

/** What an agent adds to a run that was cancelled. */
export interface CancellationResult {
  /** Of the thread; ignored when the run is rolled back. */
  readonly update?: StateUpdate;
  /** Model calls that were made for the run and are in no commit of it. */
  readonly calls?: readonly CallUsage[];
  /** Published before the end; not when the run is rolled back. */
  readonly events?: readonly RunEvent[];
}

/** Asked once the work of the run has stopped; it is not cancelled itself, so it must end by itself soon. */
export type AfterCancel = (run: {
  readonly state: ThreadState;
  readonly record: RunRecord;
  readonly logger: Logger;
}) => Promise<CancellationResult>;

/** What every run of a process works with. */
export interface RunPorts {
  readonly store: RunStore;
  readonly clock: Clock;
  readonly metrics: RunMetrics;
  readonly afterCancel?: AfterCancel;
  /** Where the agent's tools are executed. */
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
  /** When the turn now under way began, on the monotonic clock. */
  turnStartMs: number;
  /** Memory may learn from what was said; counts when the run finishes. */
  isMemorable: boolean;
  /** The head after the last commit. */
  head: ThreadHead;
}
