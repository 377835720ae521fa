import type { ThreadKey } from '@caribou/core';

/** What a user thinks of a run, or of one of its messages. */
export interface Feedback {
  readonly feedback_id: string;
  readonly run_id: string;
  readonly message_id: string | null;
  readonly rating: 1 | -1;
  readonly comment: string | null;
  /** The store's clock, ISO 8601. */
  readonly created_at: string;
}

export type NewFeedback = Omit<Feedback, 'created_at'>;

/** How many a thread holds. */
export const MAX_FEEDBACK = 1_000;

/**
 * Feedback on the runs of threads; it is deleted with its thread. All methods throw NotFoundError for a thread that is not the
 * user's, and UnavailableError when the store does not answer in time.
 */
export interface FeedbackStore {
  /**
   * Writes feedback on a run of the thread. With `replacesOfRun` it takes the id and time of the one on the run as a whole, if
   * there is one, and replaces it.
   *
   * @throws {NotFoundError} for a run that does not exist
   * @throws {ConflictError} when the thread holds `MAX_FEEDBACK`
   */
  put(thread: ThreadKey, feedback: NewFeedback, options: { readonly replacesOfRun: boolean }): Promise<Feedback>;
  /** Oldest first. */
  list(thread: ThreadKey, runId: string): Promise<readonly Feedback[]>;
  /** The feedback on each run as a whole, by run id. */
  ofRuns(thread: ThreadKey, runIds: readonly string[]): Promise<ReadonlyMap<string, Feedback>>;
  /** Whether it existed on this run. */
  remove(thread: ThreadKey, runId: string, feedbackId: string): Promise<boolean>;
}
