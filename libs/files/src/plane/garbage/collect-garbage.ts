import type { Logger, ObjectStore, SharedDocuments } from '@caribou/core';
import { userOfKey } from '../store/object-keys.js';
import { claimStore } from './claim-store.js';
import { type CollectedUser, collectUser, MIN_AGE_MS } from './collect-user.js';
import type { ReferenceParts } from './find-references.js';
import { readLatest, writeLatest } from './latest-record.js';
import { nextUserKey } from './stored-users.js';

export interface GarbageParts extends ReferenceParts {
  readonly store: ObjectStore & {
    removeLeftovers(olderThanMs: number, signal?: AbortSignal): Promise<number>;
  };
  readonly documents: Pick<SharedDocuments, 'read' | 'write'>;
  readonly nowMs: () => number;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** After this time no further user is begun. */
  readonly maxMs: number;
}

export interface Collected {
  readonly users: number;
  readonly removed: number;
  readonly candidates: number;
  /** Whether all users had their turn; else the next call continues. */
  readonly isComplete: boolean;
}

/** The user after whom the next collection continues. */
const POSITION = 'collector/position/';
/** Users in a row whose collection failed: the store or Redis is away, not a single tree. */
const MAX_FAILED = 3;

/**
 * Removes objects that no file needs, user by user; also those of users who were erased. Several processes may do this at once: each
 * object is judged by itself.
 *
 * @throws {UnavailableError} when the store or Redis is away
 */
export async function collectGarbage(parts: GarbageParts): Promise<Collected> {
  const { store, nowMs, logger, signal } = parts;
  const claim = await claimStore(store, parts.documents);
  if (!claim.isOurs) {
    const fields = { event: 'files.collect', outcome: 'error', reason: `owners: ${claim.owners.join(', ')}` };
    logger.warn(fields, 'the object store belongs to another installation: nothing is removed (docs/files.md)');
    return { users: 0, removed: 0, candidates: 0, isComplete: true };
  }
  const total = { users: 0, removed: 0, candidates: 0 };
  const endMs = nowMs() + parts.maxMs;
  let failed = 0;
  let position = (await readLatest(store, POSITION)) ?? '';
  for (let userKey = await nextUserKey(store, position); userKey !== undefined; ) {
    signal.throwIfAborted();
    const collected = await collectOrLog(parts, userKey, () => {
      failed += 1;
      return failed < MAX_FAILED && !signal.aborted;
    });
    if (collected !== null) failed = 0;
    total.users += 1;
    total.removed += collected?.removed ?? 0;
    total.candidates += collected?.candidates ?? 0;
    position = userKey;
    userKey = await nextUserKey(store, position);
    if (nowMs() < endMs || userKey === undefined) continue;
    await writeLatest(store, POSITION, { text: position, nowMs: nowMs() });
    return { ...total, isComplete: false };
  }
  await writeLatest(store, POSITION, { text: undefined, nowMs: nowMs() });
  await store.removeLeftovers(MIN_AGE_MS, signal);
  return { ...total, isComplete: true };
}

/** Null when it failed, which is logged if `mayFail` says so, else thrown. */
async function collectOrLog(
  parts: GarbageParts,
  userKey: string,
  mayFail: () => boolean,
): Promise<CollectedUser | null> {
  const userId = userOfKey(userKey);
  if (userId === undefined) return null;
  try {
    return await collectUser(parts, { userId, userKey });
  } catch (error) {
    if (!mayFail()) throw error;
    const fields = { event: 'files.collect', outcome: 'error', userId, error };
    parts.logger.error(fields, 'nothing of a user was removed, as not all files that are needed are known');
    return null;
  }
}
