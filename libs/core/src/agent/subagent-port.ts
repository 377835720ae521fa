import type { TaskCap, TaskEvent, TaskStatus, TokenCounts } from '@caribou/contracts';
import type { RunContext } from './run-context.js';

/** A kind of subagent as the model is told of it. */
export interface SubagentType {
  readonly name: string;
  readonly description: string;
}

/** What a `task` call asks for. */
export interface TaskRequest {
  readonly toolCallId: string;
  readonly description: string;
  /** All that the subagent is told. */
  readonly prompt: string;
  readonly type: string;
  /** Names of the tools of the agent that asks: the subagent gets none besides. */
  readonly tools: readonly string[];
  /** Names of the skills of the agent that asks, where it is limited to some: the subagent is told of none besides. */
  readonly skills?: readonly string[];
}

/** How a task ended. */
export interface TaskOutcome {
  readonly status: TaskStatus;
  /** The result of a completed task, else what went wrong. */
  readonly text: string;
  /** The task was stopped by one of its limits. */
  readonly stopReason?: TaskCap;
  /** What a task that did not complete had to say last. */
  readonly partial?: string;
  /** What it cost; null when its provider did not tell. */
  readonly usage: TokenCounts | null;
  readonly modelName?: string;
}

/**
 * Hands work to subagents and waits for it. A task is known by its run and tool call: asking again, from whatever
 * process, is asking for the same task, which runs once.
 */
export interface SubagentPort {
  /** In the order the model is told of them. */
  readonly types: readonly SubagentType[];
  /**
   * The outcome of a task; a refusal is one as well. `tell` hears what watchers of the run have not been told of it yet,
   * in order: by whichever process, each event is told once.
   *
   * Rejects with the reason of the run's signal; the task goes on then.
   */
  delegate(asked: TaskRequest, run: RunContext, tell: (event: TaskEvent) => Promise<void>): Promise<TaskOutcome>;
}
