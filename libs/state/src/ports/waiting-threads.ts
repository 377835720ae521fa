import type { ThreadKey } from '@caribou/core';

/** A thread that is listed as one that waits; its record says whether it still does. */
export interface WaitingThread extends ThreadKey {
  /** When it was listed, in milliseconds since 1970. */
  readonly sinceMs: number;
}

export interface WaitingQuery {
  /** Absent: the threads of all users. */
  readonly userId?: string;
  readonly limit: number;
  /** The last thread of the page before. */
  readonly after?: WaitingThread;
}

/**
 * The lists of threads that wait for answers. Entries are hints: whoever finds one that is out of date has it refreshed. All methods
 * throw UnavailableError when Redis does not answer in time.
 */
export interface WaitingThreads {
  /** Those that wait longest first. */
  list(query: WaitingQuery): Promise<readonly WaitingThread[]>;
  /** Lists the thread as its record says, and returns how many interrupts are open. */
  refresh(thread: ThreadKey): Promise<number>;
  /** Threads with a deadline that has passed, oldest deadline first, and the time of the store, in milliseconds since 1970. */
  listDue(page: { readonly skip: number; readonly limit: number }): Promise<DueThreads>;
}

export interface DueThreads {
  readonly nowMs: number;
  readonly threads: readonly ThreadKey[];
}
