import type { Cancels, RunEvents } from '@caribou/bus';
import {
  type InterruptRecord,
  isTerminal,
  NotFoundError,
  type RunEvent,
  type RunRecord,
  omitUndefined,
} from '@caribou/contracts';
import type { Clock, TaskOutcome } from '@caribou/core';
import type { RunEventLog, TaskStore } from '@caribou/state';
import { retryWhileUnavailable } from '../follow/retry-while-unavailable.js';
import { RunFollower } from '../follow/run-follower.js';
import { asksOf, TASK_RECORD_MISSING, outcomeOf, taskSpecOf, usageOf } from './task-outcome.js';
import { TaskTimeout } from './task-timeout.js';
import { TaskEventPublisher, type TaskEventSink } from './task-event-publisher.js';

export interface TaskWaitPorts {
  readonly store: Pick<TaskStore, 'find' | 'head' | 'cancel'>;
  readonly log: RunEventLog;
  readonly bus: Pick<RunEvents, 'subscribeEvents'> & Pick<Cancels, 'publishCancel'>;
  readonly clock: Clock;
  /** How long a task may wait for a pool. */
  readonly maxQueueMs: number;
  readonly checkMs: number;
}

export interface TaskWait extends TaskEventSink {
  readonly signal: AbortSignal;
}

/**
 * Follows a task to its end and publishes its events. Returns null when it waits for a person.
 *
 * @throws the signal's reason
 */
export async function waitForTask(
  ports: TaskWaitPorts,
  record: RunRecord,
  wait: TaskWait,
): Promise<TaskOutcome | null> {
  const timeout = new TaskTimeout(ports, record);
  const publisher = new TaskEventPublisher(record, wait);
  try {
    const signal = AbortSignal.any([wait.signal, timeout.signal]);
    await followToEnd(ports, { record, signal }, async (event) => {
      if (event.kind === 'run.start') timeout.onStarted();
      await publisher.onEvent(event);
    });
    const outcome = await retryWhileUnavailable(() => readOutcome(ports, record), { ...ports, signal: wait.signal });
    // The process that ends a cancelled run has read the log by then and publishes the rest itself.
    wait.signal.throwIfAborted();
    if (outcome !== null) await publisher.end(outcome);
    return outcome;
  } catch (error) {
    wait.signal.throwIfAborted();
    if (!timeout.signal.aborted) throw error;
    const outcome = await retryWhileUnavailable(() => endOverdueTask(ports, record, timeout), {
      ...ports,
      signal: wait.signal,
    });
    wait.signal.throwIfAborted();
    await publisher.end(outcome);
    return outcome;
  } finally {
    timeout.stop();
  }
}

/** Requests a task to end; one that no pool has claimed ends at once. */
export async function requestCancel(
  { store, bus }: Pick<TaskWaitPorts, 'store' | 'bus'>,
  record: RunRecord,
): Promise<void> {
  const { broadcast } = await store.cancel(record);
  if (broadcast) bus.publishCancel(record.run_id, 'interrupt');
}

async function followToEnd(
  ports: TaskWaitPorts,
  { record, signal }: { readonly record: RunRecord; readonly signal: AbortSignal },
  onEvent: (event: RunEvent) => Promise<void>,
): Promise<void> {
  const store = { getRun: () => currentRecord(ports, record) };
  const follower = await RunFollower.open(
    { store, log: ports.log, bus: ports.bus },
    { run: record, after: 0, checkMs: ports.checkMs, mayBeOver: record.status !== 'pending', signal },
  );
  try {
    for (;;) {
      const item = await follower.next();
      if (item.kind === 'over') return;
      if (item.kind === 'trimmed' || item.kind === 'rewound') {
        if (item.kind === 'trimmed') follower.skipTo(item.firstKept);
        else follower.startOver();
        continue;
      }
      for (const { event } of item.events) {
        await onEvent(event);
        if (event.kind === 'end') return;
      }
    }
  } finally {
    follower.close();
  }
}

async function currentRecord({ store }: TaskWaitPorts, record: RunRecord): Promise<RunRecord> {
  const found = await store.find(callOf(record));
  if (found === null) throw new NotFoundError('the task no longer exists', { details: { runId: record.run_id } });
  return found;
}

/** Reads how a task ended: null when it waits for a person, a failure when its record no longer says. */
export async function readOutcome(ports: Pick<TaskWaitPorts, 'store'>, record: RunRecord): Promise<TaskOutcome | null> {
  const run = await ports.store.find(callOf(record));
  if (run === null || !isTerminal(run.status)) return TASK_RECORD_MISSING;
  const head = await readHead(ports, run);
  return asksOf(run, head).length > 0 ? null : outcomeOf(run, head);
}

/** Reads what a task waits for. */
export async function readAsked(
  ports: Pick<TaskWaitPorts, 'store'>,
  run: RunRecord,
): Promise<readonly InterruptRecord[]> {
  return run.status === 'interrupted' ? asksOf(run, await readHead(ports, run)) : [];
}

/** Reads the thread's head; null for a task that was rolled back, as it has no thread. */
async function readHead({ store }: Pick<TaskWaitPorts, 'store'>, run: RunRecord): ReturnType<TaskStore['head']> {
  try {
    return await store.head(run);
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

function callOf(record: RunRecord): Parameters<TaskStore['find']>[0] {
  const { run_id: parentRunId = '', tool_call_id: toolCallId = '' } = taskSpecOf(record)?.parent ?? {};
  return { userId: record.user_id, parentRunId, toolCallId };
}

/** Ends a task that exceeded its timeout; one that had ended meanwhile without notice has the outcome it ended with. */
async function endOverdueTask(ports: TaskWaitPorts, record: RunRecord, timeout: TaskTimeout): Promise<TaskOutcome> {
  await requestCancel(ports, record);
  const run = await ports.store.find(callOf(record));
  if (run === null) return TASK_RECORD_MISSING;
  if (isTerminal(run.status) && run.status !== 'interrupted') return outcomeOf(run, await readHead(ports, run));
  const usage = usageOf(run);
  const modelName = taskSpecOf(run)?.model;
  const spent = { usage, ...omitUndefined({ modelName }) };
  if (!timeout.hasStarted) {
    const seconds = Math.round(ports.maxQueueMs / 1_000);
    return { status: 'failed', text: `no subagent-pool had room for the task within ${seconds} seconds`, ...spent };
  }
  const minutes = Math.round(timeout.limitMs / 60_000);
  const text = `Task polling timed out after ${minutes} minutes. Its subagent-pool gave no sign that it had ended.`;
  return { status: 'polling_timed_out', text, ...spent };
}
