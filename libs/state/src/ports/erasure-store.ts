import { ConflictError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';

/**
 * Port to deletions whose files are still to be removed. A deletion is entered in the same step that deletes the
 * thread's records, and no thread with that id can be created until its files were moved aside.
 *
 * Every method is one atomic step, and throws UnavailableError when the store does not answer in time.
 */
export interface Erasure {
  readonly userId: string;
  /** The thread; absent when all files of the user are deleted. */
  readonly threadId?: string;
  /** Unique to this deletion; a later one of the same id has another token. */
  readonly token: string;
}

export interface ErasureStore {
  /** The pending deletion of the thread or of its user; null for none. */
  findPending(thread: ThreadKey): Promise<Erasure | null>;
  /** Lists at most `limit` pending deletions, chosen at random. */
  listPending(limit: number): Promise<readonly Erasure[]>;
  /**
   * Records that the files were moved aside, as `aside`: the id may be used again, and uploads recorded since the
   * deletion began are deleted. Idempotent; a later deletion is unaffected.
   */
  markMoved(erasure: Erasure, aside: string): Promise<void>;
  /** Lists at most `limit` moved directories that are due for removal. */
  listDue(limit: number): Promise<readonly string[]>;
  /** Records that its content was removed; the entry itself becomes due for removal in `forMs`. */
  markEmptied(aside: string, forMs: number): Promise<void>;
  remove(aside: string): Promise<void>;
  /**
   * Begins to erase a user, who can create neither threads nor runs until it has finished.
   *
   * @param administrator the account that requests it, if one does: of two administrators who erase each other one
   *   remains
   * @throws {ConflictError} while a run is in flight
   * @throws {ForbiddenError} when the administrator does not exist or is being erased too
   */
  beginUser(userId: string, administrator?: string): Promise<Erasure>;
  /** All ids of the user's threads. */
  threadsOf(userId: string): Promise<readonly string[]>;
  /** Deletes the records of uploads to these threads, which need not exist. Idempotent. */
  forgetUploads(userId: string, threadIds: readonly string[]): Promise<void>;
  /** Removes the user's account and ends its sessions. Idempotent. */
  closeAccount(userId: string): Promise<void>;
  /** Deletes agents, profile, skills and counters of a user whose threads are deleted. Idempotent. */
  forgetUser(userId: string): Promise<void>;
}

/** 409: the files of a deleted thread or user are not removed yet; a caller that can move them may do so and retry. */
export class BeingErasedError extends ConflictError {}
