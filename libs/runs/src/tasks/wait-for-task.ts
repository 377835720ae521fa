import type { Cancels, RunEvents } from '@caribou/bus';
import { isTerminal, NotFoundError, type RunEvent, type RunRecord } from '@caribou/contracts';
import type { Clock, RunEventLog, TaskOutcome, TaskStore } from '@caribou/core';
import { retryWhileUnavailable } from '../retry-while-unavailable.js';
import { RunFollower } from '../run-follower.js';
import { DISAPPEARED, outcomeOf, taskSpecOf, usageOf } from './task-outcome.js';
import { TaskPatience } from './task-patience.js';
import { TaskTeller, type Watchers } from './task-teller.js';

export interface TaskWaitPorts {
  readonly store: Pick<TaskStore, 'find' | 'head' | 'cancel'>;
  readonly log: RunEventLog;
  readonly bus: Pick<RunEvents, 'subscribeEvents'> & Pick<Cancels, 'publishCancel'>;
  readonly clock: Clock;
  /** How long a task may wait for a pool. */
  readonly maxQueueMs: number;
  readonly checkMs: number;
}

export interface TaskWait extends Watchers {
  readonly signal: AbortSignal;
}

/**
 * Follows a task to its end and tells what happens in it.
 *
 * @throws the signal's reason
 */
export async function waitForTask(ports: TaskWaitPorts, record: RunRecord, wait: TaskWait): Promise<TaskOutcome> {
  const patience = new TaskPatience(ports, record);
  const teller = new TaskTeller(record, wait);
  try {
    const signal = AbortSignal.any([wait.signal, patience.signal]);
    await followToEnd(ports, { record, signal }, async (event) => {
      if (event.kind === 'run.start') patience.started();
      await teller.take(event);
    });
    const outcome = await retryWhileUnavailable(() => readOutcome(ports, record), { ...ports, signal: wait.signal });
    // Whoever ends a cancelled run has read by then what its watchers know, and tells them the rest.
    wait.signal.throwIfAborted();
    await teller.end(outcome);
    return outcome;
  } catch (error) {
    wait.signal.throwIfAborted();
    if (!patience.signal.aborted) throw error;
    const outcome = await retryWhileUnavailable(() => giveUp(ports, record, patience), {
      ...ports,
      signal: wait.signal,
    });
    wait.signal.throwIfAborted();
    await teller.end(outcome);
    return outcome;
  } finally {
    patience.stop();
  }
}

/** Tells a task to end; one that nobody took ends at once. */
export async function tellToEnd(
  { store, bus }: Pick<TaskWaitPorts, 'store' | 'bus'>,
  record: RunRecord,
): Promise<void> {
  const { broadcast } = await store.cancel(record);
  if (broadcast) bus.publishCancel(record.run_id, 'interrupt');
}

async function followToEnd(
  ports: TaskWaitPorts,
  { record, signal }: { readonly record: RunRecord; readonly signal: AbortSignal },
  take: (event: RunEvent) => Promise<void>,
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
        await take(event);
        if (event.kind === 'end') return;
      }
    }
  } finally {
    follower.close();
  }
}

async function currentRecord({ store }: TaskWaitPorts, record: RunRecord): Promise<RunRecord> {
  const found = await store.find(callOf(record));
  if (found === null) throw new NotFoundError('the task is gone', { details: { runId: record.run_id } });
  return found;
}

/** How a task ended; a failure when that cannot be known any more. */
export async function readOutcome(ports: Pick<TaskWaitPorts, 'store'>, record: RunRecord): Promise<TaskOutcome> {
  const run = await ports.store.find(callOf(record));
  if (run === null || !isTerminal(run.status)) return DISAPPEARED;
  return outcomeOf(run, await headOf(ports, run));
}

/** A task that was rolled back has no thread. */
async function headOf({ store }: Pick<TaskWaitPorts, 'store'>, run: RunRecord): ReturnType<TaskStore['head']> {
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

/** Ends a task that took too long; one that had ended by then, with nobody there to hear it, is taken as it ended. */
async function giveUp(ports: TaskWaitPorts, record: RunRecord, patience: TaskPatience): Promise<TaskOutcome> {
  await tellToEnd(ports, record);
  const run = await ports.store.find(callOf(record));
  if (run === null) return DISAPPEARED;
  if (isTerminal(run.status) && run.status !== 'interrupted') return outcomeOf(run, await headOf(ports, run));
  const usage = usageOf(run);
  const modelName = taskSpecOf(run)?.model;
  const spent = { usage, ...(modelName === undefined ? {} : { modelName }) };
  if (!patience.hasStarted) {
    const seconds = Math.round(ports.maxQueueMs / 1_000);
    return { status: 'failed', text: `no subagent-pool had room for the task within ${seconds} seconds`, ...spent };
  }
  const minutes = Math.round(patience.limitMs / 60_000);
  const text = `Task polling timed out after ${minutes} minutes. Its subagent-pool gave no sign that it had ended.`;
  return { status: 'polling_timed_out', text, ...spent };
}
