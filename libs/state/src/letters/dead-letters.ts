import type { DeadLetterTopic } from '@caribou/contracts';
import type { AdminLine } from '../ports/admission.js';

/** Work that was given up, as administrators list it. */
export interface ListedLetter {
  readonly id: string;
  readonly kind: DeadLetterTopic;
  readonly userId: string;
  readonly threadId: string;
  /** Absent for memory. */
  readonly runId?: string;
  /** What was asked could not be read: the run cannot be admitted again. */
  readonly isLost: boolean;
  /** Whose memory it is about; for memory only. */
  readonly agent?: string;
  readonly atMs: number;
  readonly reason: string;
  /** What is recorded about it, for people. */
  readonly detail: string;
}

export interface LetterQuery {
  readonly kind?: DeadLetterTopic;
  readonly userId?: string;
  readonly limit: number;
  /** `nextCursor` of the page before. */
  readonly cursor?: string;
}

export interface LetterPage {
  /** Newest first. */
  readonly letters: readonly ListedLetter[];
  readonly nextCursor: string | null;
  /** Letters that match, on all pages. */
  readonly total: number;
}

/**
 * `none`: the letter was replayed or dropped meanwhile. `gone`: the thread does not exist any more. `busy`: a process works on it
 * now. In all these cases nothing is written.
 */
export type ReplayOutcome = 'ok' | 'none' | 'gone' | 'busy';

/**
 * The newest letters of runs, of the extraction of memory and of webhooks, and those of tasks. The script that gives work up writes its
 * letter, and the script that removes a letter writes the audit, so that a process that dies loses neither. All methods throw
 * UnavailableError when Redis does not answer in time.
 */
export interface DeadLetterStore {
  list(query: LetterQuery): Promise<LetterPage>;
  /** @throws {NotFoundError} */
  get(id: string): Promise<ListedLetter>;
  /** Whether it was there. `line` is written to the audit if it was; absent: it is written already. */
  remove(id: string, line?: AdminLine): Promise<boolean>;
  /** Queues the thread of a letter of kind memory for extraction and removes the letter. */
  replayMemory(letter: ListedLetter, line: AdminLine): Promise<ReplayOutcome>;
  /** Makes the event of a letter of kind webhook due and removes the letter. @throws {BeingErasedError} */
  replayWebhook(letter: ListedLetter, line: AdminLine): Promise<ReplayOutcome>;
  /** Removes the letters of a user. */
  removeAll(userId: string): Promise<void>;
}
