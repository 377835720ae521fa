import type { ApprovalRule, TaskCap, TaskEvent, TaskStatus, TokenCounts } from '@caribou/contracts';
import type { RunContext } from './run-context.js';

/** A kind of subagent as described to the model. */
export interface SubagentType {
  readonly name: string;
  readonly description: string;
}

/** The arguments of a `task` call, with what its agent may pass on. */
export interface TaskRequest {
  readonly toolCallId: string;
  /** The run that made the call, for a call that continues with a person's answers; absent: the run that delegates. */
  readonly callerRunId?: string;
  readonly description: string;
  /** The complete instructions for the subagent. */
  readonly prompt: string;
  readonly type: string;
  /** Names of the parent agent's tools; the subagent gets no others. */
  readonly tools: readonly string[];
  /** Names of the parent agent's skills when it is limited to some; the subagent gets no others. */
  readonly skills?: readonly string[];
  /** Rules of the parent agent for calls that a person decides; they apply to the subagent too. */
  readonly approvals?: readonly ApprovalRule[];
}

/** How a task ended. */
export interface TaskOutcome {
  readonly status: TaskStatus;
  /** The result of a completed task, else what went wrong. */
  readonly text: string;
  /** The task was stopped by one of its limits. */
  readonly stopReason?: TaskCap;
  /** Last text of a task that did not complete. */
  readonly partial?: string;
  /** Tokens used; null when the provider did not report them. */
  readonly usage: TokenCounts | null;
  readonly modelName?: string;
}

/**
 * Delegates work to subagents and waits for the result. A task is identified by its run and tool call: a repeated
 * request, from any process, refers to the same task, which runs once.
 */
export interface SubagentPort {
  /** The kinds of subagents, in the order in which they are listed to the model. */
  readonly types: readonly SubagentType[];
  /**
   * Returns the outcome of a task; a refusal is an outcome too. `publish` receives, in order, the task's events that
   * were not published to the run's watchers yet, so that each is published once, by whichever process.
   *
   * Rejects with the reason of the run's signal; the task then continues. Rejects with `Interrupted` when the task asks a person:
   * what it asks is raised in the run, and the answers are handed to the task when it is delegated again.
   */
  delegate(request: TaskRequest, run: RunContext, publish: (event: TaskEvent) => Promise<void>): Promise<TaskOutcome>;
}
