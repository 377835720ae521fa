import type { MemoryCause, MemoryDocument, Message } from '@caribou/contracts';
import type { MemoryScope } from './memory-store.js';
import type { ThreadKey } from '../util/thread-key.js';

/** A thread's messages for one agent's memory: the unit of extraction. */
export interface MemoryJobKey extends ThreadKey, MemoryScope {}

/** The right to extract from a thread: owner and epoch are compared in every script. */
export interface MemoryLease extends MemoryJobKey {
  readonly ownerId: string;
  readonly epoch: number;
}

/** A job and its progress at the time it was taken. */
export interface MemoryJob {
  readonly lease: MemoryLease;
  /** Counts runs that added messages; a different number at the end means that there are more. */
  readonly said: number;
  /** The last message entry that was processed. */
  readonly watermark: number;
  /** The last message entry of the log. */
  readonly lastEntry: number;
  /** Attempts since the last success that failed by the job's own fault. */
  readonly attempts: number;
  /** Milliseconds since the first failed attempt, including those with an unavailable model; 0 without one. */
  readonly failingMs: number;
  /** Fingerprints of the messages processed last, oldest first, as the log may hold a message twice. */
  readonly seen: readonly string[];
}

export interface NumberedMessage {
  readonly entry: number;
  readonly message: Message;
}

/** What an extraction changes in the memory. */
export interface MemoryUpdate {
  readonly document: MemoryDocument;
  readonly before: MemoryDocument;
  readonly expectedRevision: number;
  readonly cause: MemoryCause;
}

export interface JobProgress {
  /** The last entry that was processed. */
  readonly watermark: number;
  readonly seen: readonly string[];
  /** Further entries after the watermark can be processed at once. */
  readonly more: boolean;
}

/**
 * The memory-worker's view of the store: the queue, leases and progress. A job becomes ready when its thread had no new
 * message for the debounce time, by the store's clock.
 *
 * Every write is one atomic step under the lease. All methods that take a lease throw FencedError when it is lost, and
 * nothing is written then; all throw UnavailableError when the store does not answer in time.
 */
export interface MemoryJobs {
  /**
   * Jobs that may be ready, longest waiting first, the time until the next one is (null: none is queued), and the
   * length of the queue.
   */
  ready(limit: number): Promise<{
    readonly jobs: readonly MemoryJobKey[];
    readonly nextInMs: number | null;
    readonly due: number;
  }>;
  /** Jobs that processes of these ids have, which can be taken at once when the processes are dead. */
  orphans(dead: readonly string[]): Promise<readonly MemoryJobKey[]>;
  /**
   * Takes a job; null when it is not ready, another living worker has it, or its thread was deleted.
   *
   * @param claimId any text without ":", "."; it is compared in every script
   */
  take(job: MemoryJobKey, claimId: string): Promise<MemoryJob | null>;
  renew(lease: MemoryLease): Promise<void>;
  /**
   * Message entries after `after` up to `to`, or fewer when they are large: `last` is the last number that was read.
   * Deleted entries are omitted.
   */
  messages(
    thread: ThreadKey,
    range: { readonly after: number; readonly to: number },
  ): Promise<{ readonly messages: readonly NumberedMessage[]; readonly last: number }>;
  /**
   * Stores the extracted memory and the progress, and ends the job unless there are new messages. Without an update
   * only the watermark moves.
   *
   * @returns false when the memory has another revision; nothing is written then
   * @throws {InvalidRequestError} or TooLargeError for a document out of its bounds
   */
  complete(job: MemoryJob, progress: JobProgress, update?: MemoryUpdate): Promise<boolean>;
  /** Returns the job to the queue, ready after `delayMs`; `counts`: the attempt failed by the job's own fault. */
  retry(
    job: MemoryJob,
    options: { readonly delayMs: number; readonly failed: 'counts' | 'away' | 'no' },
  ): Promise<void>;
  /** Gives up on the messages so far: the watermark moves past them, and the status lists the failure. */
  deadLetter(job: MemoryJob, progress: JobProgress, reason: string): Promise<void>;
}
