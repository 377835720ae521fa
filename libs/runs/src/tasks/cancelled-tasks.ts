import { isTerminal, type RunRecord, type ThreadState, type ToolCall } from '@caribou/contracts';
import { type CallUsage, askingRunOf, type Logger, pendingCalls, type TaskOutcome, toolScope } from '@caribou/core';
import type { RunEventLog, TaskStore } from '@caribou/state';
import type { CancellationResult } from '../active-run.js';
import { endEventOf, outcomeOf } from './task-outcome.js';
import { NONE_PUBLISHED, readPublishedTaskEvents } from './published-task-events.js';
import { readOutcome, type TaskWaitPorts, requestCancel, waitForTask } from './wait-for-task.js';

export interface CancelledTaskPorts extends TaskWaitPorts {
  /** The event logs of the runs that delegated tasks. */
  readonly parentLog: RunEventLog;
}

export interface CancelledRun {
  readonly state: ThreadState;
  readonly record: RunRecord;
  readonly logger: Logger;
}

/** How long to wait for the end of a task: its commands can be stopped only while its parent owns the thread. */
const WAIT_MS = 4_000;

/**
 * Ends the tasks that a cancelled run has delegated and that have no result yet. Returns the events of them that are not
 * published yet, and what the tasks cost. Every process that calls this finds the same tasks.
 *
 * @throws {UnavailableError} when the store does not answer; a repeated call is safe
 */
export async function endTasksOf(
  ports: CancelledTaskPorts,
  run: CancelledRun,
): Promise<Pick<CancellationResult, 'calls' | 'events'>> {
  const { user_id: userId, run_id: parentRunId } = run.record;
  const found = await Promise.all(
    taskCalls(run.state).map(async ({ id: toolCallId }) => {
      const callerRunId = askingRunOf(run.state, toolScope(toolCallId)) ?? parentRunId;
      const record = await ports.store.find({ userId, parentRunId: callerRunId, toolCallId });
      return record === null ? [] : [{ toolCallId, record }];
    }),
  );
  const tasks = found.flat();
  if (tasks.length === 0) return {};
  const published = await readPublishedTaskEvents(ports.parentLog, userId, parentRunId);
  const ended = (
    await Promise.all(
      tasks.map(async ({ toolCallId, record }) => {
        const outcome = await endTask(ports, record, run.logger);
        // What waits for a person goes on waiting: the thread still asks for it.
        return outcome === null ? [] : [{ toolCallId, outcome }];
      }),
    )
  ).flat();
  return {
    calls: ended.flatMap(({ outcome }) => callOf(outcome)),
    events: ended
      .filter(({ toolCallId }) => published.get(toolCallId)?.ended !== true)
      .map(({ toolCallId, outcome }) => ({ kind: 'custom', data: endEventOf(toolCallId, outcome) })),
  };
}

const taskCalls = (state: ThreadState): readonly ToolCall[] =>
  pendingCalls(state).valid.filter(({ name }) => name === 'task');

async function endTask(ports: CancelledTaskPorts, record: RunRecord, logger: Logger): Promise<TaskOutcome | null> {
  if (isTerminal(record.status)) return readOutcome(ports, record);
  await requestCancel(ports, record);
  const signal = AbortSignal.timeout(WAIT_MS);
  try {
    return await waitForTask(ports, record, { signal, published: NONE_PUBLISHED, publish: () => Promise.resolve() });
  } catch (error) {
    if (!signal.aborted) throw error;
    logger.warn(
      { event: 'task.cancel', taskId: record.run_id, error },
      'a task of a cancelled run did not end in time',
    );
    return outcomeOf({ ...record, status: 'interrupted' }, null);
  }
}

function callOf({ usage, modelName = 'unknown' }: TaskOutcome): readonly CallUsage[] {
  if (usage === null) return [];
  return [{ caller: 'subagent', model: modelName, inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }];
}

/**
 * Deletes the tasks that wait for answers which nobody will give any more, because their thread goes on without them.
 * Idempotent.
 */
export async function forgetWaitingTasks(
  { store }: Pick<CancelledTaskPorts, 'store'> & { readonly store: Pick<TaskStore, 'forget' | 'threadOf'> },
  { userId, state }: { readonly userId: string; readonly state: ThreadState },
): Promise<void> {
  for (const { id: toolCallId } of taskCalls(state)) {
    const parentRunId = askingRunOf(state, toolScope(toolCallId));
    if (parentRunId !== undefined) await store.forget(store.threadOf({ userId, parentRunId, toolCallId }));
  }
}
