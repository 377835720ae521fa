import type { CheckpointView, HumanMessage, RunRecord, TaskSpec } from '@caribou/contracts';
import type { CancelResult } from './run-store.js';
import type { ThreadKey } from '../util/thread-key.js';
import type { FeedRow } from './thread-store.js';

/** A task as its parent hands it over. */
export interface NewTask {
  readonly userId: string;
  readonly spec: TaskSpec;
  /** All that the subagent sees of the conversation; its id follows from the task's. */
  readonly prompt: HumanMessage;
  /** Model turns it may take. */
  readonly maxTurns: number;
  /** From its first claim. */
  readonly timeoutMs: number;
  readonly traceparent?: string;
}

/**
 * Tasks and what is kept of them. A task's record is that of its run: `created_at` is when it was handed over,
 * `started_at` when a pool took it. It is kept for a while after its end.
 *
 * Methods throw UnavailableError when the store does not answer in time; repeating them is safe.
 */
export interface TaskStore {
  /**
   * Hands a task over, once: for a call that has a task already, it is that one, however far it is.
   *
   * @throws {RateLimitedError} when the user, or all users together, have too many tasks that have not ended
   * @throws {ConflictError} when the call's task was handed over with other arguments
   */
  dispatch(task: NewTask): Promise<RunRecord>;
  /** The thread a task runs on. */
  threadOf(task: { readonly userId: string; readonly parentRunId: string; readonly toolCallId: string }): ThreadKey;
  /** Null when nothing is known of it (any more). */
  find(task: {
    readonly userId: string;
    readonly parentRunId: string;
    readonly toolCallId: string;
  }): Promise<RunRecord | null>;
  /** What the task's agent said and did; null before its first step. */
  head(run: RunRecord): Promise<CheckpointView | null>;
  /** What the task's agent said and did, oldest first, also what was summarized since; null when it is not kept. */
  steps(run: RunRecord): Promise<readonly FeedRow[] | null>;
  /** Tells a task to end; one that nobody took ends at once. */
  cancel(run: RunRecord): Promise<CancelResult>;
  /** Tasks that runs of a thread handed over, oldest first, at most 1,000. */
  tasksOf(parent: ThreadKey): Promise<readonly RunRecord[]>;
  /** Removes what is kept of a task, by its own thread; one that has not ended stays. */
  forget(task: ThreadKey): Promise<void>;
  /** Removes what is kept of a thread's tasks. Those that have not ended are left to whoever runs them. */
  forgetTasksOf(parent: ThreadKey): Promise<void>;
}
