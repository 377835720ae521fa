import type { ObjectStore } from '@caribou/core';

/** A store with the work that somebody must ask for from time to time. */
export interface OpenedStore extends ObjectStore {
  /**
   * Removes what writers that were killed have left: temporary files, or the parts of unfinished uploads. `olderThanMs` must be more
   * than any put takes; several processes may do this at once.
   *
   * @returns how many there were
   * @throws {UnavailableError}
   */
  removeLeftovers(olderThanMs: number, signal?: AbortSignal): Promise<number>;
}
