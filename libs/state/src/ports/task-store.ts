import type { CheckpointView, HumanMessage, RunRecord, TaskSpec, TokenCounts } from '@caribou/contracts';
import type { CancelResult } from './admission.js';
import type { ThreadKey } from '@caribou/core';
import type { FeedRow } from './thread-store.js';

/** A task to dispatch. */
export interface NewTask {
  readonly userId: string;
  readonly spec: TaskSpec;
  /** The only message that the subagent sees of the conversation; its id is derived from the task's. */
  readonly prompt: HumanMessage;
  /** Maximum number of model turns. */
  readonly maxTurns: number;
  /** Time limit, counted from the first claim. */
  readonly timeoutMs: number;
  readonly traceparent?: string;
  /** Id of the API key that pays for the parent's run. */
  readonly apiKey?: string;
}

/** The answers with which a task continues. */
export interface TaskAnswers {
  /** By interrupt id. */
  readonly answers: Readonly<Record<string, unknown>>;
  /** User id; absent: the deadline of the interrupts. */
  readonly by?: string;
  /** The run that waits for the task now. */
  readonly parentRunId: string;
  /** Tokens of the task so far. */
  readonly spent: TokenCounts | null;
}

/**
 * Stores tasks. A task's record is that of its run: `created_at` is when it was dispatched, `started_at` when a pool
 * claimed it. It is retained for a while after its end.
 *
 * Methods throw UnavailableError when the store does not answer in time; repeating them is safe.
 */
export interface TaskStore {
  /**
   * Dispatches a task once: for a call that already has one it returns that task, whatever its state, by its newest run.
   *
   * @throws {RateLimitedError} when the user, or all users together, have too many tasks that have not ended
   * @throws {ConflictError} when the call's task was dispatched with other arguments
   */
  dispatch(task: NewTask): Promise<RunRecord>;
  /**
   * Continues a task that waits for a person, by a run of its own. Repeating it with the same answers returns that run.
   *
   * @throws {ConflictError} when the task does not wait for them (any more)
   * @throws {RateLimitedError} as `dispatch`
   */
  resume(task: NewTask, before: RunRecord, answers: TaskAnswers): Promise<RunRecord>;
  /** Lists a task that waits for a person with its parent without a deadline, so that it is deleted with it. */
  holdListed(task: RunRecord, parent: ThreadKey): Promise<void>;
  /** The thread a task runs on. */
  threadOf(task: { readonly userId: string; readonly parentRunId: string; readonly toolCallId: string }): ThreadKey;
  /** Finds a task by its newest run; null when it does not exist (any more). */
  find(task: {
    readonly userId: string;
    readonly parentRunId: string;
    readonly toolCallId: string;
  }): Promise<RunRecord | null>;
  /** The task's newest state; null before its first step. */
  head(run: RunRecord): Promise<CheckpointView | null>;
  /** The task's messages, oldest first, including summarized ones; null when they are not stored. */
  steps(run: RunRecord): Promise<readonly FeedRow[] | null>;
  /** Requests a task to end; one that no pool claimed ends at once. */
  cancel(run: RunRecord): Promise<CancelResult>;
  /** Tasks dispatched by the thread's runs, oldest first, at most 1,000. */
  tasksOf(parent: ThreadKey): Promise<readonly RunRecord[]>;
  /** Deletes a task by its own thread, unless it has not ended. */
  forget(task: ThreadKey): Promise<void>;
  /** Deletes a thread's tasks. Those that have not ended are left to the pools that run them. */
  forgetTasksOf(parent: ThreadKey): Promise<void>;
}
