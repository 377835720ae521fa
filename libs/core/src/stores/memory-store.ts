import type { MemoryCause, MemoryDocument, MemoryFact } from '@caribou/contracts';

/** Whose memory: every lookup needs both; another user's memory does not exist. */
export interface MemoryScope {
  readonly userId: string;
  /** `lead_agent` for the user's own memory, or a custom agent's name. */
  readonly agent: string;
}

/** A memory as it stands. Where none was written it is empty, with revision 0 and era 0. */
export interface StoredMemory {
  readonly document: MemoryDocument;
  /** Rises with each change and never comes twice, not even after an erasure. */
  readonly revision: number;
  /**
   * The revision at which it began anew: was first written, cleared or imported. What was concluded from a memory of
   * another era says nothing about this one.
   */
  readonly era: number;
}

export interface MemoryWrite {
  readonly document: MemoryDocument;
  /** What the document was made from. */
  readonly expectedRevision: number;
  readonly cause: MemoryCause;
}

/** What one change did. */
export interface MemoryDifference {
  readonly added: readonly MemoryFact[];
  readonly removed: readonly MemoryFact[];
  /** As they were before. */
  readonly changed: readonly MemoryFact[];
  /** Summaries as they were before, by section. */
  readonly sections: Readonly<Record<string, string>>;
}

/** One entry of a memory's history; the store's own time, ISO 8601. */
export interface MemoryChange extends MemoryDifference {
  readonly revision: number;
  readonly at: string;
  readonly cause: MemoryCause;
}

/** A record that could not be read: it was moved aside, and the memory reads as empty since. */
export interface QuarantinedMemory {
  readonly agent: string;
  readonly at: string;
  readonly reason: string;
  /** Of what was moved aside; 0 when it was no text. */
  readonly bytes: number;
}

/** A thread whose extraction was given up, up to the words it stood at. */
export interface DeadMemoryJob {
  readonly threadId: string;
  readonly agent: string;
  readonly at: string;
  readonly reason: string;
}

export interface MemoryStatus {
  /** Threads with words that extraction has not looked at, those it is at included. */
  readonly due: number;
  /** Threads that a worker is at. */
  readonly running: number;
  /** Newest first, at most a hundred. */
  readonly dead: readonly DeadMemoryJob[];
  readonly quarantined: readonly QuarantinedMemory[];
}

/**
 * Port to what is remembered of users. Every write is one atomic step that compares the revision.
 *
 * All methods throw UnavailableError when the store does not answer in time. What deletes a thread (`ThreadStore`)
 * takes its part out of what is due; what was learnt from it stays.
 */
export interface MemoryStore {
  /** Reads a memory. A record that is damaged is moved aside in the same call and reads as empty. */
  read(scope: MemoryScope): Promise<StoredMemory>;
  /**
   * Makes the document the memory; `cleared` and `imported` begin a new era.
   *
   * @throws {ConflictError} when the revision is another one by now: read, change and write again
   * @throws {InvalidRequestError} naming the field that breaks the contract
   * @throws {TooLargeError} above MAX_MEMORY_BYTES
   */
  write(scope: MemoryScope, write: MemoryWrite): Promise<StoredMemory>;
  /** The last changes, newest first: at most 20, and fewer when they are big. */
  history(scope: MemoryScope): Promise<readonly MemoryChange[]>;
  /** Agents with a memory of this user, or with one that was moved aside; sorted. */
  agents(userId: string): Promise<readonly string[]>;
  status(userId: string): Promise<MemoryStatus>;
  /**
   * Removes the memory of one agent with its history and what was moved aside. Words said to it before are never looked
   * at again, and an extraction from them ends without effect. May be repeated after a failure.
   */
  eraseAgent(scope: MemoryScope): Promise<void>;
  /**
   * Removes every memory of a user with history, what was moved aside, what is due and what was given up. Words said
   * before are never looked at again, also in threads that stay. An extraction under way ends without effect. May be
   * repeated after a failure.
   */
  eraseUser(userId: string): Promise<void>;
}
