import type {
  CancelAction,
  CheckpointMetadata,
  CheckpointView,
  GoalState,
  Message,
  NumberedEvent,
  QuotaUse,
  RunRecord,
  RunSummary,
  RunStatus,
  StateUpdate,
  ThreadRecord,
  ThreadState,
  ThreadStatus,
} from '@caribou/contracts';
import type { BilledTokens, CallUsage, ThreadKey } from '@caribou/core';
import type { AdmitRequest, AdmitResult, CancelOptions, CancelResult, EndedRun } from './admission.js';

export interface ThreadSearch {
  readonly userId: string;
  readonly ids?: readonly string[];
  /** The stored metadata must contain these. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly values?: Readonly<Record<string, unknown>>;
  readonly status?: ThreadStatus;
  readonly limit: number;
  readonly offset: number;
  readonly sortBy: 'thread_id' | 'status' | 'created_at' | 'updated_at';
  readonly sortOrder: 'asc' | 'desc';
}

export interface HistoryQuery {
  readonly limit: number;
  /** Selects checkpoints older than this one. */
  readonly before?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The checkpoints that a run has written and that are still stored. */
export interface CheckpointsOfRun {
  readonly first: {
    readonly checkpointId: string;
    readonly parentId: string | null;
    /** `input`: it has the state with which the run began. */
    readonly source: CheckpointMetadata['source'];
  };
  /** Id of the newest. */
  readonly last: string;
}

export interface RunQuery {
  readonly limit: number;
  readonly offset: number;
  readonly status?: RunStatus;
}

/** A run as its thread lists it. */
export interface AdmittedRun {
  readonly runId: string;
  /** Time of admission in microseconds, by which runs of a thread are ordered and executed. */
  readonly admittedUs: number;
}

/** A run by its position among the runs of its thread. */
export interface OrderedRun {
  readonly runId: string;
  /** From 1, in the order of admission, which is that of execution; never given again. */
  readonly ordinal: number;
  readonly status: RunStatus;
}

export interface FeedQuery {
  /** Selects rows with a lower number. */
  readonly before?: number;
  readonly limit: number;
  /** Selects rows that this run wrote first. */
  readonly runId?: string;
}

/** A message as users see it in its thread. */
export interface FeedRow {
  /** Starts at 1, increases, and is never reused. */
  readonly seq: number;
  /** The run that wrote it first; null: written by a client. */
  readonly runId: string | null;
  readonly createdAt: string;
  /** The newest version of the message. */
  readonly message: Message;
}

export interface FeedPage {
  /** Oldest first. */
  readonly rows: readonly FeedRow[];
  /**
   * The `before` of the next page; null when this one has the oldest row. A page may have fewer rows than requested.
   */
  readonly nextBefore: number | null;
}

export interface CopyOptions {
  /** Copies only up to this checkpoint, whose feed ended with that row. */
  readonly at?: { readonly checkpointId: string; readonly lastSeq: number };
  /** Replaces the copied metadata. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A thread that was copied from another one. */
export interface CopiedThread extends ThreadRecord {
  /** Size of the state that was copied, as JSON. */
  readonly copiedBytes: number;
  /** The threads of the user, with this one. */
  readonly threads: QuotaUse;
  /**
   * How many files the thread got with its state, by the last count before the point it was copied at; null where files are on a data
   * volume, of which nothing is copied here.
   */
  readonly files: number | null;
}

/** Tokens of a model, and the runs that used it. */
export interface ModelTokens {
  readonly tokens: number;
  readonly runs: number;
  /** The parts of all `tokens`; undefined when some were counted without them: by an earlier version, or for several models. */
  readonly parts: BilledTokens | undefined;
}

/** Token usage of a thread; a copied thread starts at zero. */
export interface ThreadUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Runs with a model call whose tokens were reported. */
  readonly runs: number;
  /** Beyond a number of models, later ones are counted as `other`. */
  readonly models: Readonly<Record<string, ModelTokens>>;
  readonly callers: Readonly<Record<CallUsage['caller'], number>>;
}

/**
 * The gateway's view of the store. All methods take the owner; what belongs to another user is NotFoundError. State
 * writes are refused with ConflictError unless the thread has no current run, no inbox and no lease. All throw
 * UnavailableError when Redis does not answer in time.
 */
export interface ThreadStore {
  /** `created: false` with the stored record when the thread existed already. */
  createThread(
    thread: ThreadKey,
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly record: ThreadRecord; readonly created: boolean; readonly threads: QuotaUse }>;
  getThread(thread: ThreadKey): Promise<ThreadRecord>;
  /** Merges metadata per key; sets `updated_at` unless `touch` is false. */
  patchThread(
    thread: ThreadKey,
    metadata: Readonly<Record<string, unknown>>,
    options?: { readonly touch?: boolean },
  ): Promise<ThreadRecord>;
  /**
   * Deletes the thread with its log, checkpoints, runs and events. @throws {ConflictError} while a run is in flight.
   */
  deleteThread(
    thread: ThreadKey,
    /**
     * `ended`: also a temporary thread that has ended and is only readable; `withIdempotency`: also its runs'
     * idempotency keys.
     */
    options?: { readonly ended?: boolean; readonly withIdempotency?: boolean },
  ): Promise<void>;
  /**
   * Removes all checkpoints but the newest; returns how many. Earlier turns can then not be regenerated; the timeline stays
   * as it is.
   *
   * @throws {ConflictError} while a run is in flight
   */
  keepLatestCheckpoint(thread: ThreadKey): Promise<number>;
  /** A new thread with the same log, checkpoints and feed, and the files if they are in an object store. @throws {ConflictError} while a run is in flight */
  copyThread(thread: ThreadKey, newThreadId: string, options?: CopyOptions): Promise<CopiedThread>;
  searchThreads(query: ThreadSearch): Promise<{ readonly threads: readonly ThreadRecord[]; readonly total: number }>;

  /** The head, or null for a thread without checkpoints. */
  head(thread: ThreadKey): Promise<CheckpointView | null>;
  /** @throws {NotFoundError} for an unknown checkpoint. */
  checkpoint(thread: ThreadKey, checkpointId: string): Promise<CheckpointView>;
  /**
   * Reads the newest rows of the thread as users see it, each message once. Summarized messages are included; those of
   * a run that was rolled back or whose turn was regenerated are not. @throws {NotFoundError}
   */
  readFeed(thread: ThreadKey, query: FeedQuery): Promise<FeedPage>;
  /** Finds the row of a message; null when it is not shown to users. @throws {NotFoundError} for an unknown thread */
  findFeedRow(thread: ThreadKey, messageId: string): Promise<FeedRow | null>;
  /** The run that wrote each message first, by message id; without messages that are hidden or written by clients. */
  runsOfMessages(thread: ThreadKey, messageIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Newest first. */
  history(thread: ThreadKey, query: HistoryQuery): Promise<readonly CheckpointView[]>;
  /** Null when none is stored. */
  checkpointsOfRun(thread: ThreadKey, runId: string): Promise<CheckpointsOfRun | null>;
  /**
   * Writes a checkpoint with source `update` onto the head, or forks from `checkpointId` when that is older. Messages that the
   * update removes leave the timeline too. An update that depends on the state is a function of it and the store's time
   * (ISO 8601); it may be called again after a lost race.
   */
  updateState(
    thread: ThreadKey,
    update: StateUpdate | ((state: ThreadState, now: string) => StateUpdate),
    /**
     * `keepsTimeline`: removed messages stay in the timeline, as those that a summary replaces. `setsGoal`: the update has the
     * goal that the client wants now, in place of a change that no run has made.
     */
    options?: {
      readonly checkpointId?: string;
      readonly asNode?: string;
      readonly keepsTimeline?: boolean;
      readonly setsGoal?: boolean;
    },
  ): Promise<CheckpointView>;
  /**
   * From now on no runner admits this run as it begins it (`Handoffs.beginTurn`), so that an ordinary admission decides; without effect when one
   * did so before.
   */
  withdrawRun(thread: ThreadKey, runId: string): Promise<void>;
  /**
   * Sets the goal of a thread, or removes it with null. While a run is in flight it makes the change with one of its next
   * commits, and no later than it succeeds; until then the thread's record shows the change and the state does not.
   *
   * @throws {NotFoundError} for an unknown thread
   */
  changeGoal(thread: ThreadKey, goal: GoalState | null): Promise<void>;

  admit(request: AdmitRequest): Promise<AdmitResult>;
  /**
   * The run that was created with an idempotency key, if any. @throws {InvalidRequestError} when the body hash differs.
   */
  findIdempotent(userId: string, key: string, bodyHash: string): Promise<RunRecord | null>;
  getRun(thread: ThreadKey, runId: string): Promise<RunRecord>;
  /** The status alone, for those that wait for the end of a run; null when there is no such run. */
  runStatus(thread: ThreadKey, runId: string): Promise<RunStatus | null>;
  /** Newest first. */
  listRuns(thread: ThreadKey, query: RunQuery): Promise<readonly RunSummary[]>;
  /** A run of the user on any thread. @throws {NotFoundError} */
  findRun(userId: string, runId: string): Promise<RunRecord>;
  /** The user's runs that have not ended, in no order; as many as `quotas.max_runs_per_user` allows. */
  runsInFlight(userId: string): Promise<readonly RunSummary[]>;
  /** Runs of the thread that were admitted after this time, oldest first. @throws {NotFoundError} for an unknown thread */
  runsAfter(thread: ThreadKey, admittedUs: number, limit: number): Promise<readonly AdmittedRun[]>;
  /**
   * The time of admission just before the oldest run in flight; without one, that of the newest run, 0 for none.
   *
   * @throws {NotFoundError} for an unknown thread
   */
  followFrom(thread: ThreadKey): Promise<number>;
  /** The newest runs, newest first; none for a thread that does not exist. */
  newestRuns(thread: ThreadKey, limit: number): Promise<readonly OrderedRun[]>;
  /**
   * Notes that the thread, which need not exist, is followed for the next `forMs`: admissions say so (`AdmitResult.isFollowed`).
   *
   * @returns how many runs were ever admitted to the thread, those of earlier versions left out: it changes with each admission
   */
  noteFollowed(thread: ThreadKey, forMs: number): Promise<number>;
  /** Tokens of the thread's model calls, including those of runs that were rolled back or deleted. */
  threadUsage(thread: ThreadKey): Promise<ThreadUsage>;
  /**
   * Deletes a run that has ended, or one that waits for its time, which then ends. Returns the runs that this ended.
   * @throws {ConflictError} while the run is in flight otherwise
   */
  deleteRun(thread: ThreadKey, runId: string): Promise<readonly EndedRun[]>;
  /** Sets the durable cancel flag; a queued run ends at once. No effect on a finished run. */
  requestCancel(thread: ThreadKey, runId: string, action: CancelAction, options?: CancelOptions): Promise<CancelResult>;

  /**
   * Asks a run to stop at its next step.
   *
   * @param by id of the user who asks, for the run's trace
   * @throws {NotFoundError} for an unknown run; ConflictError when it has ended, was cancelled, or was asked before
   */
  requestPause(thread: ThreadKey, runId: string, by?: string): Promise<RunSummary>;

  /** Resolves when the store takes writes. @throws {UnavailableError} with the reason */
  ping(): Promise<void>;
  /** Resolves when the store's data survives a restart of its server. @throws {UnavailableError} with what to change */
  checkDurable(): Promise<void>;
}

/** Reads a run's event log, from which streams are replayed. */
export interface RunEventLog {
  /**
   * Events with `seq > after`, oldest first, of at most `limit` entries (an entry may hold several deltas). `firstKept` is
   * the number of the oldest entry, 0 for an empty log; `lastSeq` is the newest number that was used.
   */
  read(
    userId: string,
    runId: string,
    options: { readonly after: number; readonly limit: number },
  ): Promise<{ readonly events: readonly NumberedEvent[]; readonly firstKept: number; readonly lastSeq: number }>;
}
