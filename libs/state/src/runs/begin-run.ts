import { BEFORE_FIRST_CHECKPOINT, omitUndefined, type RunRecord } from '@caribou/contracts';
import type { OfferedAdmission, OfferedRun, ThreadKey } from '@caribou/core';
import type { ClaimResult, FirstCommit, ThreadHead } from '../ports/run-store.js';
import { logOf } from '../checkpoints/head-log.js';
import { isSweepDue } from '../checkpoints/log-sweep.js';
import { emptyHead } from '../checkpoints/stored-checkpoint.js';
import { parseGoalChange } from '../goals/goal-change.js';
import { ownerName, processParams } from '../processes/process-registry.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import type { StoreSettings } from '../redis/store-settings.js';
import { callThread, type Params, type Reply } from '../redis/thread-call.js';
import { budgetCheck } from '../usage/usage-call.js';
import { prepareCommit } from './prepared-commit.js';
import { summaryOf } from './run-codec.js';

const script = loadScript('claims/begin-run', { repliesPlainly: true });

const NOT_BEGUN: ClaimResult = { kind: 'not_begun' };

/** A run that is offered before its admission. */
type Unadmitted = OfferedRun & { readonly admission: OfferedAdmission };

export const isUnadmitted = (run: OfferedRun): run is Unadmitted => run.admission !== undefined;

/**
 * Admits, claims and begins an offered run in one step, when this process holds the state of its thread, or that is new. Nothing is written
 * where more has to be decided: `not_begun`.
 */
export async function beginRun(
  redis: RedisConnection,
  settings: StoreSettings,
  thread: ThreadKey,
  { claimId, first }: { readonly claimId: string; readonly first: FirstCommit & { readonly run: Unadmitted } },
): Promise<ClaimResult> {
  const { run } = first;
  const head = run.admission.isNew ? emptyHead() : settings.heads?.get(thread);
  // Limits of running threads, and budgets, are left to an ordinary admission and claim.
  const hasBudgets = settings.ledger !== undefined && budgetCheck(settings.ledger).budgets !== undefined;
  const isPlain = settings.maxRunningPerUser === 0 && !hasBudgets;
  if (!isPlain || head === undefined || isSweepDue(logOf(head))) return NOT_BEGUN;
  const request = first.requestOn(head);
  if (request === undefined) return NOT_BEGUN;
  const target = { ...thread, runId: run.runId };
  const commit = await prepareCommit(settings, target, { ...request, after: 0 }, null);
  const ownerId = ownerName(settings.process, claimId);
  const reply = await callThread(redis, thread, script, {
    params: [
      { owner: ownerId, lease_ms: settings.leaseMs, before_first: BEFORE_FIRST_CHECKPOINT },
      processParams(redis, 'runs', settings.process),
      admissionParams(thread, run),
      ...commit.params,
    ],
    texts: [...commit.texts, JSON.stringify(run.kwargs), JSON.stringify(run.admission.metadata)],
    beginsTurn: true,
  });
  return reply[0] === 'run' ? begunRun(reply, { thread, run, head, ownerId, onWritten: commit.onWritten }) : NOT_BEGUN;
}

const admissionParams = ({ userId }: ThreadKey, { runId, admission }: Unadmitted): Params => ({
  run: runId,
  user: userId,
  assistant: admission.assistantId,
  agent: admission.agent,
  strategy: admission.strategy,
  api_key: admission.apiKey,
  traceparent: admission.traceparent,
  asked: admission.asked,
  max_in_flight: admission.limits.inFlight,
  max_state_bytes: admission.limits.stateBytes,
  max_stored: admission.limits.storedBytes,
});

interface BegunContext {
  readonly thread: ThreadKey;
  readonly run: Unadmitted;
  readonly head: ThreadHead;
  readonly ownerId: string;
  readonly onWritten: Awaited<ReturnType<typeof prepareCommit>>['onWritten'];
}

function begunRun(reply: Reply, { thread, run, head, ownerId, onWritten }: BegunContext): ClaimResult {
  const [, epoch, createdAt, started, ordinal, inFlight, stateBytes, goalChange, committed] = reply;
  const { userId, threadId } = thread;
  const { assistantId, metadata, strategy, apiKey, traceparent } = run.admission;
  const fields = omitUndefined({
    run_id: run.runId,
    ...{ thread_id: threadId, user_id: userId, assistant_id: assistantId, status: 'running', attempt: '1' },
    ...{ metadata: JSON.stringify(metadata), multitask_strategy: strategy, api_key: apiKey, traceparent },
    ...{ created_at: createdAt, updated_at: createdAt, started, ordinal, base_checkpoint_id: head.checkpointId ?? '' },
  });
  const summary = summaryOf(Object.entries(fields).flat());
  const record: RunRecord = Object.assign(summary, { kwargs: run.kwargs, kwargs_expired: false });
  return {
    kind: 'run',
    lease: { userId, threadId, runId: run.runId, ownerId, epoch: Number(epoch) },
    run: record,
    head,
    committed: { ...onWritten(committed as readonly unknown[]), cancel: null },
    admitted: {
      createdAt: String(createdAt),
      ordinal: String(ordinal),
      stateBytes: Number(stateBytes),
      inFlight: Number(inFlight),
    },
    exhausted: false,
    ranMs: 0,
    ...parseGoalChange(goalChange),
  };
}
