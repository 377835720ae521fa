import type {
  CancelAction,
  CheckpointView,
  Message,
  NumberedEvent,
  RunRecord,
  RunSummary,
  RunStatus,
  StateUpdate,
  ThreadRecord,
  ThreadStatus,
} from '@caribou/contracts';
import type { CallUsage } from '../agent/middleware.js';
import type { AdmitRequest, AdmitResult, CancelResult } from './run-store.js';
import type { ThreadKey } from '../util/thread-key.js';

export interface ThreadSearch {
  readonly userId: string;
  readonly ids?: readonly string[];
  /** Containment on every key given. */
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
  /** Only checkpoints older than this one. */
  readonly before?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface RunQuery {
  readonly limit: number;
  readonly offset: number;
  readonly status?: RunStatus;
}

export interface FeedQuery {
  /** Only rows with a lower number. */
  readonly before?: number;
  readonly limit: number;
  /** Only rows that this run wrote first. */
  readonly runId?: string;
}

/** A message as people see it in its thread. */
export interface FeedRow {
  /** From 1, rising, never given again. */
  readonly seq: number;
  /** The run that wrote it first; null: a client did. */
  readonly runId: string | null;
  readonly createdAt: string;
  /** Its newest text. */
  readonly message: Message;
}

export interface FeedPage {
  /** Oldest first. */
  readonly rows: readonly FeedRow[];
  /** Where the next page ends; null when this one has the oldest row. A page may have fewer rows than asked for. */
  readonly nextBefore: number | null;
}

export interface CopyOptions {
  /** Only what was there at this checkpoint, whose feed ended with that row. */
  readonly at?: { readonly checkpointId: string; readonly lastSeq: number };
  /** In the place of the thread's own. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A thread that was made from another one. */
export interface CopiedThread extends ThreadRecord {
  /** Size of the state that was copied, as JSON. */
  readonly copiedBytes: number;
}

/** What a thread cost, in tokens; a copy of a thread begins at nothing. */
export interface ThreadUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Runs with a model call that told its tokens. */
  readonly runs: number;
  /** Past a number of models, the ones that came later share the name `other`. */
  readonly models: Readonly<Record<string, { readonly tokens: number; readonly runs: number }>>;
  readonly callers: Readonly<Record<CallUsage['caller'], number>>;
}

/**
 * The gateway's face of the store. All methods take the owner; what belongs to another user is NotFoundError.
 * State writes are refused with ConflictError unless the thread has no current run, no inbox and no lease.
 * All throw UnavailableError when Redis does not answer in time.
 */
export interface ThreadStore {
  /** `created: false` with the old record when the thread was there already. */
  createThread(
    thread: ThreadKey,
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly record: ThreadRecord; readonly created: boolean }>;
  getThread(thread: ThreadKey): Promise<ThreadRecord>;
  /** Merges metadata per key; `updated_at` moves unless `touch` is false. */
  patchThread(
    thread: ThreadKey,
    metadata: Readonly<Record<string, unknown>>,
    options?: { readonly touch?: boolean },
  ): Promise<ThreadRecord>;
  /** Removes the thread with its log, checkpoints, runs and events. @throws {ConflictError} while a run is in flight. */
  deleteThread(
    thread: ThreadKey,
    /** `ended`: also a temporary thread that is over and only still readable; `withIdempotency`: with those keys of its runs. */
    options?: { readonly ended?: boolean; readonly withIdempotency?: boolean },
  ): Promise<void>;
  /** A new thread with the same log, checkpoints and feed. @throws {ConflictError} while a run is in flight */
  copyThread(thread: ThreadKey, newThreadId: string, options?: CopyOptions): Promise<CopiedThread>;
  searchThreads(query: ThreadSearch): Promise<{ readonly threads: readonly ThreadRecord[]; readonly total: number }>;

  /** The head, or null for a fresh thread. */
  head(thread: ThreadKey): Promise<CheckpointView | null>;
  /** @throws {NotFoundError} for an unknown checkpoint. */
  checkpoint(thread: ThreadKey, checkpointId: string): Promise<CheckpointView>;
  /**
   * What people see of the thread, the newest rows: each message once. Those that a summary stands for now are there,
   * those of a run that was rolled back or whose turn was regenerated are not. @throws {NotFoundError}
   */
  feed(thread: ThreadKey, query: FeedQuery): Promise<FeedPage>;
  /** The row of a message; null when people do not see it. @throws {NotFoundError} for an unknown thread */
  feedRow(thread: ThreadKey, messageId: string): Promise<FeedRow | null>;
  /** The run that wrote each message first, by its id; without messages that people do not see or clients wrote. */
  runsOfMessages(thread: ThreadKey, messageIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Newest first. */
  history(thread: ThreadKey, query: HistoryQuery): Promise<readonly CheckpointView[]>;
  /** Writes a checkpoint with source `update` on the head (or forks from `checkpointId` when that is older). */
  updateState(
    thread: ThreadKey,
    update: StateUpdate,
    options?: { readonly checkpointId?: string; readonly asNode?: string },
  ): Promise<CheckpointView>;

  admit(request: AdmitRequest): Promise<AdmitResult>;
  /** The run an idempotency key stands for, if any. @throws {InvalidRequestError} when the body hash differs. */
  findIdempotent(userId: string, key: string, bodyHash: string): Promise<RunRecord | null>;
  getRun(thread: ThreadKey, runId: string): Promise<RunRecord>;
  /** Newest first. */
  listRuns(thread: ThreadKey, query: RunQuery): Promise<readonly RunSummary[]>;
  /** Tokens of the thread's model calls, those of runs that were rolled back or deleted among them. */
  threadUsage(thread: ThreadKey): Promise<ThreadUsage>;
  /** @throws {ConflictError} while the run is in flight. */
  deleteRun(thread: ThreadKey, runId: string): Promise<void>;
  /** Sets the durable cancel flag; a queued run ends at once. A finished run is left as it is. */
  requestCancel(thread: ThreadKey, runId: string, action: CancelAction): Promise<CancelResult>;

  /** Resolves when the store takes writes. @throws {UnavailableError} with the reason */
  ping(): Promise<void>;
  /** Resolves when the store survives a restart of its server. @throws {UnavailableError} with what to change */
  checkDurable(): Promise<void>;
}

/** Reading a run's event log: what streams are replayed from. */
export interface RunEventLog {
  /** Events with `seq > after`, oldest first, at most `limit`. `firstKept` is the oldest number still there (0: empty log). */
  read(
    userId: string,
    runId: string,
    options: { readonly after: number; readonly limit: number },
  ): Promise<{ readonly events: readonly NumberedEvent[]; readonly firstKept: number; readonly lastSeq: number }>;
}
