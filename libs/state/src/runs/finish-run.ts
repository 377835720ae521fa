import { openQuestionsIn, type RunEvent, type RunStatus } from '@caribou/contracts';
import type { DeadLetter, FinishRequest, FinishResult, RunLease, ThreadHead } from '../ports/run-store.js';
import {
  checkpointCall,
  checkpointEvent,
  draftOf,
  type Minted,
  progressParams,
  toWrittenHead,
} from '../checkpoints/commit-call.js';
import type { RedisConnection } from '../redis/connection.js';
import { MAX_DEAD_LETTERS, serializeLetter } from '../memory/jobs/dead-letter-list.js';
import { LETTER_KWARGS_MS, runLetter } from '../letters/letter-params.js';
import { memoryMember } from '../redis/keys.js';
import { NOTHING_ASKED } from './run-codec.js';
import { entryCounts, entryTexts, logEntries, textsBeforeCheckpoint } from '../events/log-entries.js';
import { numberEvents } from '../events/number-events.js';
import { loadScript } from '../redis/scripts.js';
import { budgetStateOf } from '../usage/budget-state.js';
import type { StoreSettings } from '../redis/store-settings.js';
import { callOwned, type Params, type Reply } from '../redis/thread-call.js';
import { outboxParams } from '../outbox/outbox-params.js';
import { interruptedParams } from '../redis/interrupted-params.js';
import { type TraceCall, traceStep, traceTtl } from '../traces/trace-call.js';
import { turnParams } from '../turns/turn-params.js';

const script = loadScript('runs/finish', { repliesPlainly: true });

const NOTHING_SHOWN = { last: 0, incomplete: false };

const end = (status: RunStatus): RunEvent => ({ kind: 'end', status });

const NO_STEP = { params: [], texts: [], stateBytes: 0, facts: {}, eventsOf: () => [], headOf: () => null };

/** The parameters of the last commit, the events that it adds to the log, and the head that it writes. */
async function lastStep(request: FinishRequest, runId: string, settings: StoreSettings) {
  const { commit } = request;
  if (commit === undefined) return NO_STEP;
  const draft = draftOf(commit, runId);
  const call = await checkpointCall(draft, null, settings);
  const entries = logEntries(commit.events, settings);
  const { texts, isOpen } = textsBeforeCheckpoint(entries, settings);
  return {
    params: [
      progressParams(commit, entries, settings.ledger),
      { is_open: isOpen, commit: call.params, has_next: commit.next.length > 0 },
    ],
    texts: [...texts, ...call.texts],
    stateBytes: call.stateBytes,
    facts: {
      step: commit.step,
      next: commit.next,
      bytes: call.bytes,
      interrupts: commit.state.interrupts?.open ?? [],
    },
    headOf: (minted: Minted): ThreadHead => toWrittenHead(draft, call, minted),
    eventsOf: (minted: Minted): readonly RunEvent[] => [...commit.events, checkpointEvent(draft, minted)],
  };
}

/** The keys and the member with which the script puts the thread into the memory queue. */
function memoryQueueEntry(redis: RedisConnection, lease: RunLease, { agent }: { readonly agent: string }) {
  const { due, userDue, jobs } = redis.keys.memoryJob(lease);
  return { due, user_due: userDue, jobs, member: memoryMember(lease, agent), agent };
}

/** Whether the thread ends with a question to the user. */
const endsWithQuestion = ({ commit }: FinishRequest): boolean =>
  commit !== undefined && openQuestionsIn(commit.state.messages).length > 0;

/** The lists for dead letters and the letter as JSON. */
const deadLetters = (redis: RedisConnection, lease: RunLease, letter: DeadLetter, isLost: boolean) => ({
  key: redis.keys.deadLetters,
  letter: serializeLetter(letter),
  max: MAX_DEAD_LETTERS,
  listed: runLetter(redis, lease, letter, isLost),
  kwargs_ttl_ms: LETTER_KWARGS_MS,
});

/** What the script is given beside the last commit. */
function endParams(redis: RedisConnection, settings: StoreSettings, lease: RunLease, request: FinishRequest): Params {
  const { shown = NOTHING_SHOWN, error, remember, deadLetter, unreadable = false } = request;
  return {
    status: request.status,
    stop_reason: request.stopReason ?? '',
    error: error === undefined ? '' : JSON.stringify(error),
    rollback: request.rollback ?? false,
    shown: shown.last,
    incomplete: shown.incomplete,
    events_ttl_ms: settings.eventsTtlMs,
    trace_ttl_ms: traceTtl(settings).trace_ttl_ms,
    idempotency_ttl_ms: settings.idempotencyTtlMs,
    max_log_bytes: settings.maxLogBytes,
    journal_ttl_ms: settings.journalTtlMs,
    executions: redis.keys.executionPrefix(lease),
    interrupted: interruptedParams(redis, lease).interrupted,
    question: endsWithQuestion(request) ? true : undefined,
    kept_checkpoints: settings.keptCheckpoints,
    remember: remember === undefined ? undefined : memoryQueueEntry(redis, lease, remember),
    dead_letters: deadLetter === undefined ? undefined : deadLetters(redis, lease, deadLetter, unreadable),
    replaced: unreadable ? { kwargs: JSON.stringify(NOTHING_ASKED) } : undefined,
    queue: [redis.keys.turns.ready, redis.keys.turns.capped],
    turns: turnParams(redis, settings).turns,
    outbox: outboxParams(redis, lease.userId),
  };
}

/** The result of a call that wrote nothing. */
const toUnwritten = ([outcome, detail]: Reply): FinishResult => ({
  ...(outcome === 'steered' ? { steered: Number(detail) > 0 ? 'messages' : 'goal' } : {}),
  appended: [],
  stateBytes: 0,
  logBytes: null,
  more: outcome === 'repeated' && detail === 1,
  queueIsEmpty: false,
  budget: 'fine',
});

/** A run that was rolled back has no trace, and the texts for it were not stored. */
function noteStored([, rolledBack]: Reply, { onStored }: TraceCall): void {
  if (rolledBack !== 1) onStored();
}

/**
 * Ends the run that the lease is for. A run whose cancel flag says rollback is rolled back whatever the request says,
 * and then only its `end` is appended.
 *
 * @throws {FencedError} when the caller is not the owner
 */
export async function finishRun(
  redis: RedisConnection,
  settings: StoreSettings,
  lease: RunLease,
  request: FinishRequest,
): Promise<FinishResult> {
  const last = await lastStep(request, lease.runId, settings);
  const entries = logEntries(request.events, settings);
  const trace = await traceStep(settings, lease, request.trace, last.facts);
  const reply = await callOwned(redis, lease, script, {
    params: [
      endParams(redis, settings, lease, request),
      { more_events: entryCounts(entries) },
      ...last.params,
      trace.params,
    ],
    texts: [...last.texts, ...entryTexts(entries), ...trace.texts],
  });
  if (reply[0] === 'steered' || reply[0] === 'repeated') return toUnwritten(reply);
  noteStored(reply, trace);
  const [, rolledBack, first, checkpointId, createdAt, more, logBytes, budget, queueIsEmpty] = reply;
  const after = { more: more === 1, queueIsEmpty: queueIsEmpty === 1 };
  const rest = { logBytes: Number(logBytes), budget: budgetStateOf(budget), ...after };
  if (rolledBack === 1) return { appended: numberEvents(first, [end('interrupted')]), stateBytes: 0, ...rest };
  const minted = { checkpointId: String(checkpointId), createdAt: String(createdAt) };
  const head = last.headOf(minted);
  if (head !== null) settings.heads?.set(lease, head);
  const events = [...last.eventsOf(minted), ...request.events, end(request.status)];
  return { appended: numberEvents(first, events), stateBytes: last.stateBytes, ...rest };
}
