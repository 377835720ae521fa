import type { ObjectStore } from '@caribou/core';
import { userPrefixes } from '../store/object-keys.js';
import { findReferences, type ReferenceParts } from './find-references.js';
import { readLatest, writeLatest } from './latest-record.js';

export interface CollectUserParts extends ReferenceParts {
  readonly store: ObjectStore;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
}

export interface CollectedUser {
  readonly removed: number;
  /** Objects without a reference that a later collection will remove. */
  readonly candidates: number;
}

/** Younger objects may belong to a generation that is not committed yet. */
export const MIN_AGE_MS = 24 * 3_600_000;
/** How long before its removal an object must have been found to be without a reference. */
export const MIN_KNOWN_MS = 3_600_000;
/** Of one user in one collection; the rest is for the next. */
const MAX_REMOVED = 20_000;
const MAX_CANDIDATES = 20_000;
/** Keys of one call. */
const MAX_KEYS = 1_000;

/** By key, since when an object is known to have no reference, in milliseconds since the epoch. */
type Candidates = ReadonlyMap<string, number>;

const recordsOf = (userKey: string): string => `collector/candidates/${userKey}/`;

/**
 * Removes those objects of a user that no file needs: ones that are a day old, and were without a reference in an
 * earlier collection, at least an hour ago, too.
 *
 * @throws {UnavailableError} @throws {ConflictError} nothing is removed when the references are not all known
 */
export async function collectUser(
  parts: CollectUserParts,
  { userId, userKey }: { readonly userId: string; readonly userKey: string },
): Promise<CollectedUser> {
  const { store, nowMs, signal } = parts;
  const former = parseCandidates(await readLatest(store, recordsOf(userKey)));
  const references = await findReferences(parts, userId, signal);
  const candidates = new Map<string, number>();
  const due: string[] = [];
  for await (const key of oldObjects(parts, userId)) {
    if (references.has(key)) continue;
    const sinceMs = former.get(key);
    if (sinceMs !== undefined && nowMs() - sinceMs >= MIN_KNOWN_MS && due.length < MAX_REMOVED) due.push(key);
    else if (candidates.size < MAX_CANDIDATES) candidates.set(key, sinceMs ?? nowMs());
  }
  for (let at = 0; at < due.length; at += MAX_KEYS) await store.remove(due.slice(at, at + MAX_KEYS), signal);
  await record(parts, userKey, { former, candidates });
  return { removed: due.length, candidates: candidates.size };
}

/** Keys of the user's objects that are old enough. */
async function* oldObjects(
  { store, nowMs, signal }: CollectUserParts,
  userId: string,
): AsyncGenerator<string, void, undefined> {
  for (const prefix of userPrefixes(userId)) {
    let after: string | undefined;
    do {
      signal.throwIfAborted();
      const { objects, next } = await store.list(prefix, after, signal);
      for (const { key, modifiedMs } of objects) if (nowMs() - modifiedMs >= MIN_AGE_MS) yield key;
      after = next;
    } while (after !== undefined);
  }
}

async function record(
  { store, nowMs }: CollectUserParts,
  userKey: string,
  { former, candidates }: { readonly former: Candidates; readonly candidates: Candidates },
): Promise<void> {
  const isSame = former.size === candidates.size && [...candidates.keys()].every((key) => former.has(key));
  if (isSame) return;
  const text = candidates.size === 0 ? undefined : JSON.stringify([...candidates]);
  await writeLatest(store, recordsOf(userKey), { text, nowMs: nowMs() });
}

/** A record that is damaged is as good as none: candidates are found again. */
function parseCandidates(text: string | undefined): Candidates {
  if (text === undefined) return new Map();
  try {
    const pairs: unknown = JSON.parse(text);
    return Array.isArray(pairs) ? new Map(pairs.filter(isCandidate)) : new Map();
  } catch (error) {
    if (error instanceof SyntaxError) return new Map();
    throw error;
  }
}

const isCandidate = (pair: unknown): pair is [string, number] =>
  Array.isArray(pair) && typeof pair[0] === 'string' && typeof pair[1] === 'number';
