import type { ThreadKey } from '@caribou/core';

/** How the slots of all runners are shared between users. */
export interface TurnShares {
  /** Maximum number of threads of one user with a run under way; 0: no limit. */
  readonly maxRunningPerUser: number;
  /** How many slots a user gets for one that others get, while both wait; users that are not named have 1. */
  readonly weights: Readonly<Record<string, number>>;
}

/**
 * The threads with a run that found no free slot, for all runners together.
 *
 * Q1 While several users wait, each gets slots in proportion to his weight, however many threads he has; of one user the
 *    thread that waited longest is next.
 * Q2 A user with as many running threads as he may have is passed over until one of them ends. A thread runs as long as it
 *    has a current run, also after its runner died.
 * Q3 An entry is a hint: one that was lost is entered again by a sweep, and one without a run to execute is dropped.
 *
 * Methods throw UnavailableError when Redis does not answer in time.
 */
export interface TurnQueue {
  /** Puts the thread at the end of its user's queue; one that is in it stays where it is. */
  enqueue(thread: ThreadKey): Promise<void>;
  /**
   * Removes the thread that is next from the queue, for a free slot of the caller, which claims it. Null: none may run now.
   *
   * @param waiting a thread that may have something to run: it is put into the queue first, or, when its run was
   *   interrupted, gets the slot at once
   */
  take(waiting?: ThreadKey): Promise<ThreadKey | null>;
}
