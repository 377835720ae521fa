import { createHash } from 'node:crypto';
import type { Cancels, RunEvents, Wakes } from '@caribou/bus';
import {
  ConflictError,
  type InterruptRecord,
  omitUndefined,
  RateLimitedError,
  type RunRecord,
  type TaskEvent,
  taskIds,
  type TaskSpec,
  UnavailableError,
} from '@caribou/contracts';
import {
  type TaskRequest,
  type Clock,
  type InterruptRequest,
  type RunContext,
  type SubagentPort,
  type SubagentType,
  type TaskOutcome,
} from '@caribou/core';
import { type NewTask, type RunEventLog, type TaskStore } from '@caribou/state';
import { retryWhileUnavailable } from '../follow/retry-while-unavailable.js';
import { endEventOf, usageOf } from './task-outcome.js';
import { NONE_PUBLISHED, type PublishedTaskEvents, readPublishedTaskEvents } from './published-task-events.js';
import type { TaskEventSink } from './task-event-publisher.js';
import { readAsked, type TaskWaitPorts, waitForTask } from './wait-for-task.js';

/** The limits and the model of the tasks of one kind of subagent. */
export interface DelegationTerms {
  /** The configured name of the model that runs the task. */
  readonly model: string;
  /** Whether the kind names a model of its own, for which the run's temperature was not chosen. */
  readonly hasOwnModel?: boolean;
  readonly maxTurns: number;
  readonly timeoutMs: number;
}

export interface SubagentTaskOptions {
  readonly types: readonly SubagentType[];
  /** The terms of a kind when its parent runs on `parentModel`; undefined for an unknown kind. */
  readonly termsOf: (type: string, parentModel: string | undefined) => DelegationTerms | undefined;
  readonly store: TaskStore;
  /** The event logs of tasks. */
  readonly taskLog: RunEventLog;
  /** The event logs of the runs that delegate tasks. */
  readonly parentLog: RunEventLog;
  readonly bus: Pick<RunEvents, 'subscribeEvents'> & Pick<Cancels, 'publishCancel'>;
  readonly wakes: Pick<Wakes, 'publish'>;
  readonly clock: Clock;
  /** How long a task may wait for a pool. */
  readonly maxQueueMs: number;
  /** After this long without an event the log is read. */
  readonly checkMs: number;
}

type Publish = (event: TaskEvent) => Promise<void>;

/**
 * The parent's side of tasks.
 *
 * D1 The ids of a task are derived from run and tool call: a runner that takes over a run finds its tasks.
 * D2 The notification (wake) may be lost: a pool's sweep finds a task without it.
 * D3 Each event is published once: a takeover reads from the run's own log what was published.
 * D4 What a task asks a person is raised in the parent's run, which ends then, as the task's run has. The run with the answers
 *    delegates the same call again, and the task continues by another run on its thread.
 * D5 A run that stops leaves its tasks running: the process that finishes it as cancelled ends them (cancelled-tasks.ts).
 */
export class SubagentTasks implements SubagentPort {
  readonly types: readonly SubagentType[];

  constructor(private readonly options: SubagentTaskOptions) {
    this.types = options.types;
  }

  async delegate(asked: TaskRequest, run: RunContext, publish: Publish): Promise<TaskOutcome> {
    const { checkMs, store, parentLog } = this.options;
    const retry = { checkMs, signal: run.signal };
    const published = await retryWhileUnavailable(() => readPublished(parentLog, run, asked.toolCallId), retry);
    const task = this.newTask(asked, run);
    if (task === undefined)
      return this.refuse(asked, `Unknown subagent type '${asked.type}'. ${this.listTypes()}`, { published, publish });
    try {
      let record = await retryWhileUnavailable(() => store.dispatch(task), retry);
      for (;;) {
        const asked = await retryWhileUnavailable(() => readAsked(this.options, record), retry);
        if (asked.length > 0) record = await this.continueWithAnswers(task, record, { run, asked });
        await this.notifyPools(record, run);
        const outcome = await waitForTask(this.waitPorts, record, { signal: run.signal, published, publish });
        if (outcome !== null) return outcome;
        record = await retryWhileUnavailable(() => store.dispatch(task), retry);
      }
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === undefined) throw error;
      return this.refuse(asked, refusal, { published, publish });
    }
  }

  /**
   * Raises in the parent's run what the task asks, and hands it the answers that there are.
   *
   * @throws {Interrupted} while there is none
   */
  private async continueWithAnswers(task: NewTask, before: RunRecord, { run, asked }: Asking): Promise<RunRecord> {
    const { store, checkMs } = this.options;
    const retry = { checkMs, signal: run.signal };
    const parent = { userId: run.userId, threadId: run.threadId };
    await retryWhileUnavailable(() => store.holdListed(before, parent), retry);
    const found = await run.interruptAll(asked.map((interrupt) => raisedInParent(interrupt, task)));
    const given = [...found.values()];
    const by = given.find((answer) => answer.by !== undefined)?.by;
    const answers = {
      answers: Object.fromEntries(given.map(({ id, value }) => [id, value])),
      parentRunId: run.runId,
      spent: usageOf(before),
      ...omitUndefined({ by }),
    };
    return retryWhileUnavailable(() => store.resume(task, before, answers), retry);
  }

  private listTypes(): string {
    return `Available types: ${this.types.map(({ name }) => name).join(', ')}`;
  }

  private newTask(asked: TaskRequest, run: RunContext): NewTask | undefined {
    const terms = this.options.termsOf(asked.type, run.context.model_name);
    if (terms === undefined) return undefined;
    const { description, type, prompt, toolCallId, callerRunId = run.runId, tools, skills, approvals } = asked;
    const spec: TaskSpec = {
      parent: { thread_id: run.threadId, run_id: callerRunId, tool_call_id: toolCallId },
      subagent_type: type,
      description,
      tools: [...tools],
      ...(skills === undefined ? {} : { skills: [...skills] }),
      ...(approvals === undefined ? {} : { approvals: [...approvals] }),
      model: terms.model,
      ...omitUndefined({ temperature: terms.hasOwnModel === true ? undefined : run.context.temperature }),
      args_hash: createHash('sha256')
        .update(JSON.stringify([description, prompt, type]))
        .digest('hex'),
    };
    const id = `task:${taskIds(callerRunId, toolCallId).runId}`;
    return {
      userId: run.userId,
      spec,
      prompt: { type: 'human', id, content: prompt, additional_kwargs: {}, response_metadata: {} },
      maxTurns: terms.maxTurns,
      timeoutMs: terms.timeoutMs,
      ...omitUndefined({ apiKey: run.apiKey }),
    };
  }

  private async notifyPools({ user_id: userId, thread_id: threadId }: RunRecord, run: RunContext): Promise<void> {
    try {
      await this.options.wakes.publish({ userId, threadId });
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      run.logger.debug(
        { event: 'task.wake', error },
        'publishing the wake of a task failed; a sweep will find the task',
      );
    }
  }

  /** Ends a call whose task was not admitted. */
  private async refuse(
    { toolCallId }: TaskRequest,
    text: string,
    { published, publish }: TaskEventSink,
  ): Promise<TaskOutcome> {
    const outcome: TaskOutcome = { status: 'failed', text, usage: null };
    if (!published.ended) await publish(endEventOf(toolCallId, outcome));
    return outcome;
  }

  private get waitPorts(): TaskWaitPorts {
    const { store, taskLog: log, bus, clock, maxQueueMs, checkMs } = this.options;
    return { store, log, bus, clock, maxQueueMs, checkMs };
  }
}

interface Asking {
  readonly run: RunContext;
  readonly asked: readonly InterruptRecord[];
}

/** A question of a task as its parent asks it: under the same id, with the path of the task. */
function raisedInParent(interrupt: InterruptRecord, { spec }: NewTask): InterruptRequest {
  const { id, kind, value, schema, namespace = [], decider, expires_ms: expiresAtMs, on_expiry: onExpiry } = interrupt;
  return {
    ...{ id, key: id, kind, value, decider, onExpiry },
    namespace: [`task:${spec.parent.tool_call_id}`, ...namespace],
    ...omitUndefined({ schema, expiresAtMs }),
  };
}

/** The first attempt of a run has published nothing. */
async function readPublished(log: RunEventLog, run: RunContext, taskId: string): Promise<PublishedTaskEvents> {
  if (run.attempt <= 1) return NONE_PUBLISHED;
  return (await readPublishedTaskEvents(log, run.userId, run.runId)).get(taskId) ?? NONE_PUBLISHED;
}

/** The reason for the model why a task was not admitted; undefined for other failures. */
function refusalOf(error: unknown): string | undefined {
  if (error instanceof RateLimitedError)
    return `No subagent can take the task now: ${error.message}. Do the work yourself, or try again later with fewer tasks`;
  return error instanceof ConflictError ? error.message : undefined;
}
