import type { MemoryCause, MemoryDocument, Message } from '@caribou/contracts';
import type { MemoryScope } from './memory-store.js';
import type { ThreadKey } from '../util/thread-key.js';

/** A thread's words for one agent's memory: the unit of extraction. */
export interface MemoryJobKey extends ThreadKey, MemoryScope {}

/** The right to extract from a thread: owner and epoch are compared in every script. */
export interface MemoryLease extends MemoryJobKey {
  readonly ownerId: string;
  readonly epoch: number;
}

/** A thread's words as they stood when they were taken. */
export interface MemoryJob {
  readonly lease: MemoryLease;
  /** Counts what was said; another number at the end means that there is more. */
  readonly said: number;
  /** The last message entry that was looked at. */
  readonly watermark: number;
  /** The last message entry that is there. */
  readonly lastEntry: number;
  /** Attempts that failed by themselves, since the last success. */
  readonly attempts: number;
  /** Milliseconds since the first of all failed attempts, those with the model away included; 0 without one. */
  readonly failingMs: number;
  /** Marks of the messages looked at last, oldest first: a message may be written into the log again. */
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
  /** The last entry that was looked at. */
  readonly watermark: number;
  readonly seen: readonly string[];
  /** Entries after the watermark are left that can be read at once. */
  readonly more: boolean;
}

/**
 * The memory-worker's face of the store: what is due, who is at it, how far it got. A job becomes ready when nothing
 * was said in its thread for the debounce time; the last words count, by the store's clock.
 *
 * Every write is one atomic step under the lease. All methods that take a lease throw FencedError when it is lost, and
 * nothing is written then; all throw UnavailableError when the store does not answer in time.
 */
export interface MemoryJobs {
  /**
   * Jobs that may be ready, longest waiting first, how long until the next one is (null: no other one is due), and how
   * many are due in all.
   */
  ready(limit: number): Promise<{
    readonly jobs: readonly MemoryJobKey[];
    readonly nextInMs: number | null;
    readonly due: number;
  }>;
  /** Takes a job; null when it is not ready, another worker is at it, or its thread is gone. */
  take(job: MemoryJobKey, ownerId: string): Promise<MemoryJob | null>;
  renew(lease: MemoryLease): Promise<void>;
  /**
   * Message entries after `after` up to `to`, or up to a border of size before it: `last` is the last number that was
   * looked at. Those that are gone are left out.
   */
  messages(
    thread: ThreadKey,
    range: { readonly after: number; readonly to: number },
  ): Promise<{ readonly messages: readonly NumberedMessage[]; readonly last: number }>;
  /**
   * Writes down what was learnt and how far was read, and ends the job unless more was said meanwhile. Without an
   * update only the watermark moves.
   *
   * @returns false when the memory has another revision: nothing is written
   * @throws {InvalidRequestError} or TooLargeError for a document out of its bounds
   */
  complete(job: MemoryJob, progress: JobProgress, update?: MemoryUpdate): Promise<boolean>;
  /** Gives the job back, to be ready after `delayMs`; `counts`: the attempt failed by the thread's own fault. */
  retry(
    job: MemoryJob,
    options: { readonly delayMs: number; readonly failed: 'counts' | 'away' | 'no' },
  ): Promise<void>;
  /** Gives up what was said so far: the watermark moves behind it, and the status names it. */
  deadLetter(job: MemoryJob, progress: JobProgress, reason: string): Promise<void>;
}
