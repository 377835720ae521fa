import { BEFORE_FIRST_CHECKPOINT, BugError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ClaimOptions, ClaimResult, RawRecord, ThreadHead } from '../ports/run-store.js';
import { readCheckpoints, requireCheckpoint } from '../checkpoints/checkpoint-reads.js';
import { ownerName, processParams } from '../processes/process-registry.js';
import type { RedisConnection } from '../redis/connection.js';
import { hashOf } from '../redis/hash.js';
import { pendingMember } from '../redis/keys.js';
import { runOf } from './run-codec.js';
import { loadScript } from '../redis/scripts.js';
import { headOf, parseLoadReply } from '../checkpoints/stored-checkpoint.js';
import type { StoreSettings } from '../redis/store-settings.js';
import { callThread } from '../redis/thread-call.js';
import { parseGoalChange } from '../goals/goal-change.js';
import { parseWaiting } from '../steering/waiting-messages.js';
import { turnParams } from '../turns/turn-params.js';

const script = loadScript('runs/claim');

const MAX_RAW_CHARS = 4_000;

interface Claim extends ClaimOptions {
  /** Unique per claim. */
  readonly claimId: string;
}

/** Claims the thread's run and loads its head, in one round trip. */
export async function claimThread(
  redis: RedisConnection,
  settings: StoreSettings,
  thread: ThreadKey,
  { claimId, isChecked = false }: Claim,
): Promise<ClaimResult> {
  const ownerId = ownerName(settings.process, claimId);
  const known = settings.heads?.get(thread);
  // No admission checks the queue of turns, which the script uses with a limit of running threads.
  if (isChecked && settings.maxRunningPerUser === 0) redis.checkedThreads.set(pendingMember(thread), true);
  const params = claimParams(redis, settings, { ownerId, known });
  const reply = await callThread(redis, thread, script, { params, beginsTurn: true });
  if (reply[0] === 'busy' || reply[0] === 'capped') return { kind: reply[0] };
  if (reply[0] !== 'run') return { kind: 'idle' };
  const [, epoch, flat, head, tries, ranMs, kwargs, waiting, goalChange, storing] = reply;
  const runId = hashOf(flat).get('run_id') ?? '';
  const lease = { userId: thread.userId, threadId: thread.threadId, runId, ownerId, epoch: Number(epoch) };
  try {
    const loaded = await parseLoadReply(head, { known });
    return {
      kind: 'run',
      lease,
      run: runOf(flat, kwargs),
      head: headOf(loaded, loaded.checkpoints[0] ?? null),
      exhausted: Number(tries) > settings.maxAttempts,
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

const claimParams = (
  redis: RedisConnection,
  settings: StoreSettings,
  { ownerId, known }: { readonly ownerId: string; readonly known: ThreadHead | undefined },
) => ({
  owner: ownerId,
  lease_ms: settings.leaseMs,
  before_first: BEFORE_FIRST_CHECKPOINT,
  known: known?.checkpointId ?? undefined,
  ...processParams(redis, 'runs', settings.process),
  ...turnParams(redis, settings),
});

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
