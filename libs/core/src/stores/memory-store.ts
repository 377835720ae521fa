import type { MemoryCause, MemoryDocument, MemoryFact } from '@caribou/contracts';

/** Whose memory: every lookup needs both; another user's memory does not exist. */
export interface MemoryScope {
  readonly userId: string;
  /** `lead_agent` for the user's own memory, or a custom agent's name. */
  readonly agent: string;
}

/** A stored memory. One that was never written is empty, with revision 0 and era 0. */
export interface StoredMemory {
  readonly document: MemoryDocument;
  /** Increases with each change and is never reused, not even after an erasure. */
  readonly revision: number;
  /**
   * The revision at which it was first written, cleared or imported. Conclusions drawn from a memory of another era do
   * not apply to this one.
   */
  readonly era: number;
}

export interface MemoryWrite {
  readonly document: MemoryDocument;
  /** The revision that the document was derived from. */
  readonly expectedRevision: number;
  readonly cause: MemoryCause;
}

/** The effect of one change. */
export interface MemoryDifference {
  readonly added: readonly MemoryFact[];
  readonly removed: readonly MemoryFact[];
  /** Facts that changed, as they were before. */
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
  /** Size of the quarantined record; 0 when it was not text. */
  readonly bytes: number;
}

/** A thread whose extraction was abandoned, up to the position it had reached. */
export interface DeadMemoryJob {
  readonly threadId: string;
  readonly agent: string;
  readonly at: string;
  readonly reason: string;
}

export interface MemoryStatus {
  /** Threads with messages that extraction has not finished, including those it is processing. */
  readonly due: number;
  /** Threads that a worker is processing. */
  readonly running: number;
  /** Newest first, at most a hundred. */
  readonly dead: readonly DeadMemoryJob[];
  readonly quarantined: readonly QuarantinedMemory[];
}

/**
 * Port to users' memories. Every write is one atomic step that compares the revision.
 *
 * All methods throw UnavailableError when the store does not answer in time. Deleting a thread (`ThreadStore`) removes
 * its jobs from the queue; what was extracted from it stays.
 */
export interface MemoryStore {
  /** Reads a memory. A record that is damaged is moved aside in the same call and reads as empty. */
  read(scope: MemoryScope): Promise<StoredMemory>;
  /**
   * Replaces the memory by the document; `cleared` and `imported` begin a new era.
   *
   * @throws {ConflictError} when the revision has changed: read, change and write again
   * @throws {InvalidRequestError} naming the field that breaks the contract
   * @throws {TooLargeError} above MAX_MEMORY_BYTES
   */
  write(scope: MemoryScope, write: MemoryWrite): Promise<StoredMemory>;
  /** The last changes, newest first: at most 20, and fewer when they are big. */
  history(scope: MemoryScope): Promise<readonly MemoryChange[]>;
  /** Agents with a memory of this user, or with one that was quarantined; sorted. */
  agents(userId: string): Promise<readonly string[]>;
  status(userId: string): Promise<MemoryStatus>;
  /**
   * Deletes the memory of one agent with its history and quarantined records. Earlier messages to the agent are never
   * extracted again, and an extraction under way ends without effect. May be repeated after a failure.
   */
  eraseAgent(scope: MemoryScope): Promise<void>;
  /**
   * Deletes every memory of a user with history, quarantined records, queued and abandoned jobs. Earlier messages are
   * never extracted again, also in remaining threads. An extraction under way ends without effect. May be repeated
   * after a failure.
   */
  eraseUser(userId: string): Promise<void>;
}
