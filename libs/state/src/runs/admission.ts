import { createHash } from 'node:crypto';
import {
  BEFORE_FIRST_CHECKPOINT,
  type CancelAction,
  customAgentOf,
  NotFoundError,
  type RunRecord,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { AdmitRequest, AdmitResult, CancelOptions, CancelResult, EndedRun } from '../ports/admission.js';
import type { ThreadStore } from '../ports/thread-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { fieldOf } from '../redis/hash.js';
import { runOf, summaryOf } from './run-codec.js';
import { readRun } from './run-records.js';
import { MAX_AUDIT_LINES } from '../executions/audit-log.js';
import { loadScript } from '../redis/scripts.js';
import type { StoreSettings } from '../redis/store-settings.js';
import { parseStored } from '../redis/stored-json.js';
import { callThread, type Reply } from '../redis/thread-call.js';
import { endParams, timedParams } from '../shared/timed-params.js';
import { admissionTrace, traceTtl } from '../traces/trace-call.js';
import { budgetCheck } from '../usage/usage-call.js';
import { budgetSpent } from '../usage/budget-state.js';
import { otherBody, refusal, readRegeneratedRunId } from './admission-refusals.js';
import { joinedResult, steeringCall } from './steering-call.js';

const scripts = {
  admit: loadScript('runs/admit', { repliesPlainly: true }),
  cancel: loadScript('runs/cancel'),
  withdraw: loadScript('claims/withdraw-run'),
};

/** A runner that was paused for longer does not hold an offer any more. */
const WITHDRAWN_MS = 3_600_000;

const NOTHING_DONE = {
  ...{ cancelled: [], ended: [], isUnderWay: false, isFollowed: false },
  ...{ headId: null, stateBytes: 0, runs: null },
};

/** Queued runs that a script ended: their logs contain only `end`. */
export const toEndedRuns = (pairs: unknown): EndedRun[] =>
  (pairs as readonly [string, number][]).map(([runId, seq]) => ({
    runId,
    appended: [{ seq: Number(seq), event: { kind: 'end', status: 'interrupted' } }],
  }));

/** Hashes a key of a client, so that it is short and contains no separator. */
const keyDigest = (key: string): string => createHash('sha256').update(key).digest('hex');

/** The interrupts that the run answers; none for a run with an input. */
const resumeParams = ({ keys }: RedisConnection, { kwargs: { command } }: AdmitRequest) =>
  command === undefined
    ? {}
    : {
        resume: Object.keys(command.answers ?? {}),
        // The answers to a task are those that its parent got in time.
        ...(keys.erasing === undefined
          ? {}
          : { answered_by: command.answered_by === undefined ? 'deadline' : 'person' }),
      };

/** What the admission writes into the audit stream: with it, so that no decision takes effect unrecorded. */
const auditParams = ({ keys }: RedisConnection, { decisions = [] }: AdmitRequest) =>
  decisions.length === 0
    ? {}
    : { audit: { key: keys.audit, lines: decisions.map((line) => JSON.stringify(line)), max: MAX_AUDIT_LINES } };

const budgetParams = ({ ledger }: StoreSettings) => (ledger === undefined ? {} : budgetCheck(ledger));

const runParams = (request: AdmitRequest) => ({
  run: request.runId,
  user: request.userId,
  assistant: request.assistantId,
  strategy: request.multitaskStrategy,
  create: request.ifNotExists === 'create',
  temporary: request.kwargs.temporary,
  api_key: request.apiKey ?? '',
  agent: customAgentOf(request.kwargs.context) ?? request.assistantId,
});

/** What the run starts from. */
const baseParams = (request: AdmitRequest) => ({
  checkpoint: request.checkpointId ?? '',
  before_first: BEFORE_FIRST_CHECKPOINT,
  regenerates: readRegeneratedRunId(request),
  traceparent: request.traceparent ?? '',
  body_hash: request.idempotency?.bodyHash ?? '',
});

/** The record of a run that was stored, from its request and the fields that the script decided. */
function storedRun(request: AdmitRequest, decided: readonly unknown[]): RunRecord {
  const { runId, threadId, userId, assistantId, metadata, kwargs, apiKey = '', traceparent = '' } = request;
  const asked = [
    ...['run_id', runId, 'thread_id', threadId, 'user_id', userId, 'assistant_id', assistantId, 'status', 'pending'],
    ...['metadata', JSON.stringify(metadata), 'api_key', apiKey, 'traceparent', traceparent],
  ];
  return Object.assign(summaryOf([...asked, ...decided]), { kwargs, kwargs_expired: false });
}

/** The record of a run that a runner has admitted as it began it, as it was then. */
export const admittedRun = (
  request: AdmitRequest,
  { createdAt, ordinal }: { readonly createdAt: string; readonly ordinal: string },
): RunRecord =>
  storedRun(request, [
    ...['created_at', createdAt, 'updated_at', createdAt, 'ordinal', ordinal],
    ...['multitask_strategy', request.multitaskStrategy],
  ]);

/** The result of an admission that stored a run. */
function admittedResult([, decided, ...rest]: Reply, request: AdmitRequest, settings: StoreSettings): AdmitResult {
  const [cancelled, ended, stateBytes, inFlight, isUnderWay, isFollowed] = rest;
  return {
    run: storedRun(request, decided as readonly unknown[]),
    repeated: false,
    cancelled: cancelled as string[],
    ended: toEndedRuns(ended),
    isUnderWay: isUnderWay === 1,
    isFollowed: isFollowed === 1,
    headId: fieldOf(decided, 'admitted_head') || null,
    stateBytes: Number(stateBytes),
    runs: { quota: 'runs', limit: settings.maxInFlightRuns, used: Number(inFlight) },
  };
}

export function admissions(
  redis: RedisConnection,
  settings: StoreSettings,
): Pick<ThreadStore, 'admit' | 'findIdempotent' | 'requestCancel' | 'withdrawRun'> {
  const idempotencyKey = (userId: string, key: string): string => redis.keys.idempotency(userId, keyDigest(key));
  const logParams = {
    events_ttl_ms: settings.eventsTtlMs,
    ...traceTtl(settings),
    idempotency_ttl_ms: settings.idempotencyTtlMs,
    max_log_bytes: settings.maxLogBytes,
  };
  const limitParams = {
    max_queued: settings.maxQueuedRuns,
    max_in_flight: settings.maxInFlightRuns,
    max_pending: settings.maxPending,
    max_threads: settings.maxThreads,
    max_state_bytes: settings.maxStateBytes,
    max_stored: settings.maxStoredBytes,
    kept_checkpoints: settings.keptCheckpoints,
  };

  async function admit(request: AdmitRequest): Promise<AdmitResult> {
    const { idempotency } = request;
    const steering = steeringCall(request, settings);
    const reply = await callThread(redis, request, scripts.admit, {
      beginsTurn: true,
      params: [
        logParams,
        timedParams(redis, request, settings),
        runParams(request),
        budgetParams(settings),
        baseParams(request),
        resumeParams(redis, request),
        { expected_head: request.expectedHead },
        auditParams(redis, request),
        admissionTrace(settings, request, redis.keys.erasing === undefined),
        limitParams,
        steering.params,
      ],
      texts: [
        JSON.stringify(request.metadata),
        JSON.stringify(request.kwargs),
        JSON.stringify(request.threadMetadata),
        ...steering.texts,
      ],
      moreKeys: idempotency === undefined ? [] : [idempotencyKey(request.userId, idempotency.key)],
    });
    const [outcome, run] = reply;
    if (outcome === 'repeated') return { run: runOf(run, reply[2]), repeated: true, ...NOTHING_DONE };
    if (outcome === 'steered') return joinedResult(reply);
    if (outcome === 'budget') throw budgetSpent(reply, settings);
    if (outcome !== 'ok') throw refusal(reply, request, settings);
    return admittedResult(reply, request, settings);
  }

  async function findIdempotent(userId: string, key: string, bodyHash: string): Promise<RunRecord | null> {
    const known = await redis.use((client) => client.get(idempotencyKey(userId, key)));
    if (known === null) return null;
    const first = parseStored<{ readonly body_hash: string; readonly run: string }>(known);
    if (first.body_hash !== bodyHash) throw otherBody();
    return readRun(redis, userId, first.run);
  }

  async function requestCancel(
    thread: ThreadKey,
    runId: string,
    action: CancelAction,
    { status, by }: CancelOptions = {},
  ): Promise<CancelResult> {
    const params = { ...logParams, ...endParams(redis, thread.userId), run: runId, action, status, cancelled_by: by };
    const reply = await callThread(redis, thread, scripts.cancel, { params });
    if (reply[0] === 'no_run') throw new NotFoundError(`Run ${runId} does not exist`, { details: { runId } });
    return { run: summaryOf(reply[1]), broadcast: reply[2] === 1, ended: toEndedRuns(reply[3]) };
  }

  const withdrawRun = async (thread: ThreadKey, runId: string): Promise<void> => {
    await callThread(redis, thread, scripts.withdraw, { params: { run: runId, ttl_ms: WITHDRAWN_MS } });
  };

  return { admit, findIdempotent, requestCancel, withdrawRun };
}
