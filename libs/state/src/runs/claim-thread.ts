import { BEFORE_FIRST_CHECKPOINT, BugError } from '@caribou/contracts';
import type { OfferedRun, ThreadKey } from '@caribou/core';
import type { ClaimOptions, ClaimResult, FirstCommit, RawRecord, ThreadHead } from '../ports/run-store.js';
import { readCheckpoints, requireCheckpoint } from '../checkpoints/checkpoint-reads.js';
import { ownerName, processParams } from '../processes/process-registry.js';
import type { RedisConnection } from '../redis/connection.js';
import { fieldOf, hashOf } from '../redis/hash.js';
import { pendingMember } from '../redis/keys.js';
import { beginRun, isUnadmitted } from './begin-run.js';
import { runOf, summaryOf } from './run-codec.js';
import { loadScript } from '../redis/scripts.js';
import { logOf } from '../checkpoints/head-log.js';
import { isSweepDue } from '../checkpoints/log-sweep.js';
import { type PreparedCommit, prepareCommit } from './prepared-commit.js';
import { emptyHead, headOf, parseLoadReply } from '../checkpoints/stored-checkpoint.js';
import type { StoreSettings } from '../redis/store-settings.js';
import { callThread, type Params, type Reply } from '../redis/thread-call.js';
import { parseGoalChange } from '../goals/goal-change.js';
import { parseWaiting } from '../steering/waiting-messages.js';
import { turnParams } from '../turns/turn-params.js';

const scripts = { claim: loadScript('claims/claim'), claimAndCommit: loadScript('claims/claim-and-commit') };

const MAX_RAW_CHARS = 4_000;

interface Claim extends ClaimOptions {
  /** Unique per claim. */
  readonly claimId: string;
}

/** A commit that a claim may write, on the head that the run is expected to begin from. */
interface PreparedFirst {
  readonly run: OfferedRun;
  readonly head: ThreadHead;
  readonly commit: PreparedCommit;
}

/** Claims the thread's run, which a run that is not admitted yet becomes first, and loads its head, or writes the first commit on the head that is known, in one round trip. */
export async function claimThread(
  redis: RedisConnection,
  settings: StoreSettings,
  thread: ThreadKey,
  { claimId, isChecked = false, first }: Claim,
): Promise<ClaimResult> {
  if (first !== undefined && isUnadmitted(first.run))
    return beginRun(redis, settings, thread, { claimId, first: { ...first, run: first.run } });
  const ownerId = ownerName(settings.process, claimId);
  const known = settings.heads?.get(thread);
  const prepared = first === undefined ? undefined : await prepareFirst(settings, thread, first, known);
  // No admission checks the queue of turns, which the script uses with a limit of running threads.
  if (isChecked && settings.maxRunningPerUser === 0) redis.checkedThreads.set(pendingMember(thread), true);
  const params = claimParams(redis, settings, { ownerId, known });
  const reply =
    prepared === undefined
      ? await callThread(redis, thread, scripts.claim, { params, beginsTurn: true })
      : await callThread(redis, thread, scripts.claimAndCommit, {
          params: [...params, { first: prepared.run.runId }, ...prepared.commit.params],
          texts: prepared.commit.texts,
          beginsTurn: true,
        });
  if (reply[0] === 'busy' || reply[0] === 'capped') return { kind: reply[0] };
  if (reply[0] !== 'run') return { kind: 'idle' };
  return claimedRun(reply, { thread, ownerId, known, prepared, maxAttempts: settings.maxAttempts });
}

/** Prepares the first commit when the state that it adds to is known, and small changes of the log are all that it needs. */
async function prepareFirst(
  settings: StoreSettings,
  thread: ThreadKey,
  { run, requestOn }: FirstCommit,
  known: ThreadHead | undefined,
): Promise<PreparedFirst | undefined> {
  const head = run.headId === null ? emptyHead() : known;
  if (head?.checkpointId !== run.headId || isSweepDue(logOf(head))) return undefined;
  const request = requestOn(head);
  if (request === undefined) return undefined;
  const target = { ...thread, runId: run.runId };
  return { run, head, commit: await prepareCommit(settings, target, { ...request, after: 0 }, null) };
}

interface ClaimContext {
  readonly thread: ThreadKey;
  readonly ownerId: string;
  readonly known: ThreadHead | undefined;
  readonly prepared: PreparedFirst | undefined;
  readonly maxAttempts: number;
}

async function claimedRun(reply: Reply, context: ClaimContext): Promise<ClaimResult> {
  const [, epoch, stored, loadedHead, tries, ranMs, kwargs, waiting, goalChange, storing, committed] = reply;
  const { thread, ownerId, known, prepared, maxAttempts } = context;
  const hasBegun = prepared !== undefined && Array.isArray(committed);
  const flat = hasBegun ? [...knownFields(thread, prepared), ...(stored as readonly unknown[])] : stored;
  const runId = fieldOf(flat, 'run_id') ?? '';
  const lease = { userId: thread.userId, threadId: thread.threadId, runId, ownerId, epoch: Number(epoch) };
  try {
    const begun = hasBegun
      ? begunRun(prepared, flat, committed)
      : { run: runOf(flat, kwargs), head: await loadHead(loadedHead, known) };
    return {
      kind: 'run',
      lease,
      ...begun,
      exhausted: Number(tries) > maxAttempts,
      ranMs: Number(ranMs),
      ...parseWaiting(waiting),
      ...parseGoalChange(goalChange),
      ...parseFilesWith(storing),
    };
  } catch (error) {
    // The lease is taken: a record that cannot be decoded would block every later run of the thread.
    const reason =
      error instanceof Error ? error : new BugError('the record of a run cannot be read', { cause: error });
    return { kind: 'unreadable', lease, reason, record: rawRecord(flat, kwargs) };
  }
}

/** The fields of the record of a run that has begun with its claim, without those that the script returns. */
const knownFields = ({ userId, threadId }: ThreadKey, { run: { runId } }: PreparedFirst): readonly string[] => [
  ...['run_id', runId, 'thread_id', threadId, 'user_id', userId, 'status', 'running'],
];

/** A run with its first commit, as `ClaimResult` has it: its record and head are those before the commit. */
function begunRun({ run: { kwargs }, head, commit }: PreparedFirst, flat: unknown, values: readonly unknown[]) {
  const before = { kwargs, kwargs_expired: false, input_committed: false, last_seq: 0 };
  const run = Object.assign(summaryOf(flat), before);
  const written = commit.onWritten(values);
  return { run, head, committed: { ...written, cancel: run.cancel } };
}

async function loadHead(reply: unknown, known: ThreadHead | undefined): Promise<ThreadHead> {
  const loaded = await parseLoadReply(reply, { known });
  return headOf(loaded, loaded.checkpoints[0] ?? null);
}

const claimParams = (
  redis: RedisConnection,
  settings: StoreSettings,
  { ownerId, known }: { readonly ownerId: string; readonly known: ThreadHead | undefined },
): readonly Params[] => [
  {
    owner: ownerId,
    lease_ms: settings.leaseMs,
    before_first: BEFORE_FIRST_CHECKPOINT,
    known: known?.checkpointId ?? undefined,
  },
  processParams(redis, 'runs', settings.process),
  turnParams(redis, settings),
];

function rawRecord(flat: unknown, kwargs: unknown): RawRecord {
  const fields = [...hashOf(flat), ['kwargs', typeof kwargs === 'string' ? kwargs : ''] as const];
  return Object.fromEntries(fields.map(([field, text]) => [field, text.slice(0, MAX_RAW_CHARS)]));
}

/** Loads a checkpoint as a head for a writer; `BEFORE_FIRST_CHECKPOINT` is the empty state. @throws {NotFoundError} */
export async function loadCheckpoint(
  redis: RedisConnection,
  thread: ThreadKey,
  checkpointId: string,
): Promise<ThreadHead> {
  const loaded = await readCheckpoints(redis, thread, { ids: [checkpointId], ended: true });
  const [checkpoint] = loaded.checkpoints;
  return headOf(loaded, checkpointId === BEFORE_FIRST_CHECKPOINT ? null : requireCheckpoint(checkpoint, checkpointId));
}

/** `storing`: 'manager machine', or null for none. */
function parseFilesWith(storing: unknown): Pick<Extract<ClaimResult, { kind: 'run' }>, 'filesWith'> {
  const [managerId, machine] = typeof storing === 'string' ? storing.split(' ') : [];
  return managerId === undefined || machine === undefined ? {} : { filesWith: { managerId, machine } };
}
