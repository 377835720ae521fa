import { BEFORE_FIRST_CHECKPOINT } from '@caribou/contracts';
import type { ClaimResult, ThreadHead, ThreadKey } from '@caribou/core';
import { known, readCheckpoints } from './checkpoint-reads.js';
import type { RedisConnection } from './connection.js';
import { runOf } from './run-codec.js';
import { loadScript } from './scripts.js';
import { headOf, loadedOf } from './stored-checkpoint.js';
import type { StoreSettings } from './store-settings.js';
import { callThread } from './thread-call.js';

const script = loadScript('claim');

/** Takes the thread's run for an owner and loads its head, in one round trip. */
export async function claimThread(
  redis: RedisConnection,
  settings: StoreSettings,
  thread: ThreadKey,
  ownerId: string,
): Promise<ClaimResult> {
  const params = { owner: ownerId, lease_ms: settings.leaseMs, before_first: BEFORE_FIRST_CHECKPOINT };
  const reply = await callThread(redis, thread, script, { params });
  if (reply[0] !== 'run') return { kind: reply[0] === 'busy' ? 'busy' : 'idle' };
  const [, epoch, flat, head, tries, ranMs] = reply;
  const run = runOf(flat);
  const loaded = loadedOf(head);
  return {
    kind: 'run',
    lease: { userId: thread.userId, threadId: thread.threadId, runId: run.run_id, ownerId, epoch: Number(epoch) },
    run,
    head: headOf(loaded, loaded.checkpoints[0] ?? null),
    exhausted: Number(tries) > settings.maxAttempts,
    ranMs: Number(ranMs),
  };
}

/** A checkpoint as a writer builds on it; `BEFORE_FIRST_CHECKPOINT` is the empty state. @throws {NotFoundError} when it is gone. */
export async function loadCheckpoint(
  redis: RedisConnection,
  thread: ThreadKey,
  checkpointId: string,
): Promise<ThreadHead> {
  const loaded = await readCheckpoints(redis, thread, { ids: [checkpointId], ended: true });
  const [checkpoint] = loaded.checkpoints;
  return headOf(loaded, checkpointId === BEFORE_FIRST_CHECKPOINT ? null : known(checkpoint, checkpointId));
}
