import { ConflictError } from '@caribou/contracts';
import type { ThreadKey } from '../util/thread-key.js';

/**
 * Port to what is deleted and whose files are still to go. A deletion enters the thread in the same step in which its
 * records go, and no thread of that id can be made until its files were moved aside.
 *
 * Every method is one atomic step, and throws UnavailableError when the store does not answer in time.
 */
export interface Erasure {
  readonly userId: string;
  /** Absent: all of the user's files. */
  readonly threadId?: string;
  /** Names this deletion: a later one of the same id has another. */
  readonly token: string;
}

export interface ErasureStore {
  /** The deletion of the thread that waits for its files, or that of its user; null for none. */
  findPending(thread: ThreadKey): Promise<Erasure | null>;
  /** Some of those that wait, at most `limit`, at random. */
  listPending(limit: number): Promise<readonly Erasure[]>;
  /**
   * The files were moved aside, as `aside`: the id may be used again, and what uploads noted since the deletion began is
   * gone. Idempotent; a later deletion stays.
   */
  markMoved(erasure: Erasure, aside: string): Promise<void>;
  /** What was moved aside and is due to be removed, at most `limit`. */
  listDue(limit: number): Promise<readonly string[]>;
  /** Its content is removed: it is due again, to be dropped, in `forMs`. */
  markEmptied(aside: string, forMs: number): Promise<void>;
  remove(aside: string): Promise<void>;
  /**
   * Begins to erase a user: he can make neither threads nor runs until it is over.
   *
   * @param administrator the person who asks, where his right is that of an account: of two who erase each other one is left
   * @throws {ConflictError} while a run is in flight
   * @throws {ForbiddenError} when the administrator is gone or being erased himself
   */
  beginUser(userId: string, administrator?: string): Promise<Erasure>;
  /** All ids of the user's threads. */
  threadsOf(userId: string): Promise<readonly string[]>;
  /** Removes what is known of uploads to these threads, which need not be there. Idempotent. */
  forgetUploads(userId: string, threadIds: readonly string[]): Promise<void>;
  /** Removes the user's account and ends its sessions. Idempotent. */
  closeAccount(userId: string): Promise<void>;
  /** Removes agents, profile, skills and counters of a user whose threads are gone. Idempotent. */
  forgetUser(userId: string): Promise<void>;
}

/** 409: a deleted thread, or its user, waits for its files to go; whoever can move them may do so and ask again. */
export class BeingErasedError extends ConflictError {}
