import { createHash } from 'node:crypto';
import type { Cancels, RunEvents, Wakes } from '@caribou/bus';
import {
  ConflictError,
  RateLimitedError,
  type RunRecord,
  type TaskEvent,
  taskIds,
  type TaskSpec,
  UnavailableError,
} from '@caribou/contracts';
import {
  type AskedTask,
  type Clock,
  type NewTask,
  type RunContext,
  type RunEventLog,
  type SubagentPort,
  type SubagentType,
  type TaskOutcome,
  type TaskStore,
} from '@caribou/core';
import { retryWhileUnavailable } from '../retry-while-unavailable.js';
import { endEventOf } from './task-outcome.js';
import { NOTHING_TOLD, type Told, toldOf } from './told-events.js';
import { type TaskWaitPorts, waitForTask } from './wait-for-task.js';

/** What a kind of subagent means for a task handed to it. */
export interface DelegationTerms {
  /** Configured name of the model it runs on. */
  readonly model: string;
  readonly maxTurns: number;
  readonly timeoutMs: number;
}

export interface SubagentTaskOptions {
  readonly types: readonly SubagentType[];
  /** The terms for a kind, by an agent that runs on `parentModel`; undefined for an unknown kind. */
  readonly termsOf: (type: string, parentModel: string | undefined) => DelegationTerms | undefined;
  readonly store: TaskStore;
  /** Logs of tasks. */
  readonly taskLog: RunEventLog;
  /** Logs of the runs that hand tasks over. */
  readonly parentLog: RunEventLog;
  readonly bus: Pick<RunEvents, 'subscribeEvents'> & Pick<Cancels, 'publishCancel'>;
  readonly wakes: Pick<Wakes, 'publish'>;
  readonly clock: Clock;
  /** How long a task may wait for a pool. */
  readonly maxQueueMs: number;
  /** A silence of this length makes the log be read. */
  readonly checkMs: number;
}

type Tell = (event: TaskEvent) => Promise<void>;

/**
 * The parent's side of tasks.
 *
 * D1 A task is admitted under ids that follow from run and tool call: a runner that takes a run over finds its tasks.
 * D2 The wake is a nudge; a pool's sweep finds a task without it.
 * D3 Watchers of the run are told each event once: a takeover reads from the run's own log what they know.
 * D4 A run that stops leaves its tasks be: whoever ends it as cancelled ends them (cancelled-tasks.ts).
 */
export class SubagentTasks implements SubagentPort {
  readonly types: readonly SubagentType[];

  constructor(private readonly options: SubagentTaskOptions) {
    this.types = options.types;
  }

  async delegate(asked: AskedTask, run: RunContext, tell: Tell): Promise<TaskOutcome> {
    const { checkMs, store, parentLog } = this.options;
    const again = { checkMs, signal: run.signal };
    const told = await retryWhileUnavailable(() => toldBefore(parentLog, run, asked.toolCallId), again);
    const task = this.newTask(asked, run);
    if (task === undefined)
      return this.refuse(asked, `Unknown subagent type '${asked.type}'. ${this.known()}`, { told, tell });
    try {
      const record = await retryWhileUnavailable(() => store.dispatch(task), again);
      await this.nudge(record, run);
      return await waitForTask(this.waitPorts, record, { signal: run.signal, told, tell });
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === undefined) throw error;
      return this.refuse(asked, refusal, { told, tell });
    }
  }

  private known(): string {
    return `Available types: ${this.types.map(({ name }) => name).join(', ')}`;
  }

  private newTask(asked: AskedTask, run: RunContext): NewTask | undefined {
    const terms = this.options.termsOf(asked.type, run.context.model_name);
    if (terms === undefined) return undefined;
    const { description, type, prompt, toolCallId, tools, skills } = asked;
    const spec: TaskSpec = {
      parent: { thread_id: run.threadId, run_id: run.runId, tool_call_id: toolCallId },
      subagent_type: type,
      description,
      tools: [...tools],
      ...(skills === undefined ? {} : { skills: [...skills] }),
      model: terms.model,
      args_hash: createHash('sha256')
        .update(JSON.stringify([description, prompt, type]))
        .digest('hex'),
    };
    const id = `task:${taskIds(run.runId, toolCallId).runId}`;
    return {
      userId: run.userId,
      spec,
      prompt: { type: 'human', id, content: prompt, additional_kwargs: {}, response_metadata: {} },
      maxTurns: terms.maxTurns,
      timeoutMs: terms.timeoutMs,
    };
  }

  private async nudge({ user_id: userId, thread_id: threadId }: RunRecord, run: RunContext): Promise<void> {
    try {
      await this.options.wakes.publish({ userId, threadId });
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      run.logger.debug({ event: 'task.wake', error }, 'no wake for a task: a sweep will find it');
    }
  }

  /** A task that was never handed over. */
  private async refuse(
    { toolCallId }: AskedTask,
    text: string,
    { told, tell }: { readonly told: Told; readonly tell: Tell },
  ): Promise<TaskOutcome> {
    const outcome: TaskOutcome = { status: 'failed', text, usage: null };
    if (!told.ended) await tell(endEventOf(toolCallId, outcome));
    return outcome;
  }

  private get waitPorts(): TaskWaitPorts {
    const { store, taskLog: log, bus, clock, maxQueueMs, checkMs } = this.options;
    return { store, log, bus, clock, maxQueueMs, checkMs };
  }
}

/** A first attempt has told nothing. */
async function toldBefore(log: RunEventLog, run: RunContext, taskId: string): Promise<Told> {
  if (run.attempt <= 1) return NOTHING_TOLD;
  return (await toldOf(log, run.userId, run.runId)).get(taskId) ?? NOTHING_TOLD;
}

/** Why a task was not taken, in words for the model; undefined for other failures. */
function refusalOf(error: unknown): string | undefined {
  if (error instanceof RateLimitedError)
    return `No subagent can take the task now: ${error.message}. Do the work yourself, or try again later with fewer tasks`;
  return error instanceof ConflictError ? error.message : undefined;
}
