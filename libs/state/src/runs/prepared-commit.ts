import { omitUndefined } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { CommitRequest, CommitResult, RunLease } from '../ports/run-store.js';
import { logEntries, textsBeforeCheckpoint } from '../events/log-entries.js';
import { numberEvents } from '../events/number-events.js';
import type { RedisConnection } from '../redis/connection.js';
import type { StoreSettings } from '../redis/store-settings.js';
import type { Params, ThreadCall } from '../redis/thread-call.js';
import { traceStep } from '../traces/trace-call.js';
import { budgetStateOf } from '../usage/budget-state.js';
import {
  type CheckpointDraft,
  checkpointCall,
  checkpointEvent,
  draftOf,
  progressParams,
  toWrittenHead,
} from '../checkpoints/commit-call.js';
import { logOf } from '../checkpoints/head-log.js';
import { isSweepDue, type Sweep, sweepLog } from '../checkpoints/log-sweep.js';

/** What a commit writes into which run. */
type Target = Pick<RunLease, 'userId' | 'threadId' | 'runId'>;

/** A commit as `includes/run-commit.lua` takes it. */
export interface PreparedCommit extends Required<Pick<ThreadCall, 'texts'>> {
  readonly params: readonly Params[];
  /** Call once it is written. @param values as the script returns them: checkpoint id, its time, number of the first event, budgets */
  readonly onWritten: (values: readonly unknown[]) => Written;
}

type Written = Pick<CommitResult, 'head' | 'appended' | 'stateBytes' | 'opens' | 'budget'>;

export async function prepareCommit(
  settings: StoreSettings,
  target: Target,
  request: CommitRequest,
  sweep: Sweep | null,
): Promise<PreparedCommit> {
  const draft = draftOf(request, target.runId);
  const call = await checkpointCall(draft, sweep, settings);
  const entries = logEntries(request.events, settings);
  const { texts, isOpen } = textsBeforeCheckpoint(entries, settings);
  const { step, next } = request;
  const trace = await traceStep(settings, target, request.trace, { step, next, bytes: call.bytes });
  return {
    params: [
      {
        max_log_bytes: settings.maxLogBytes,
        kept_checkpoints: settings.keptCheckpoints,
        after: request.after,
        opens: request.opens === undefined ? undefined : JSON.stringify(request.opens),
      },
      progressParams(request, entries, settings.ledger),
      { is_open: isOpen, commit: call.params },
      trace.params,
    ],
    texts: [...texts, ...call.texts, ...trace.texts],
    onWritten: ([checkpointId, createdAt, firstSeq, budget]) => {
      trace.onStored();
      const minted = { checkpointId: String(checkpointId), createdAt: String(createdAt) };
      const head = toWrittenHead(draft, call, minted);
      settings.heads?.set(target, head);
      return {
        head,
        appended: numberEvents(firstSeq, [...request.events, checkpointEvent(draft, minted)]),
        stateBytes: call.stateBytes,
        ...omitUndefined({ opens: request.opens }),
        budget: budgetStateOf(budget),
      };
    },
  };
}

/** Finds what a commit on this head may free, when enough of the log is outside of the head. */
export async function sweepFor(
  redis: RedisConnection,
  thread: ThreadKey,
  { head }: Pick<CheckpointDraft, 'head'>,
): Promise<Sweep | null> {
  const log = logOf(head);
  return isSweepDue(log) ? sweepLog(redis, thread, log) : null;
}
