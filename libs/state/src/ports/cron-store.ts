/** Asks for a page of a list of all users. */
export interface SetQuery {
  readonly limit: number;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** A run that a cron starts: what its admission compares, and how the cron goes on. */
export interface CronStart {
  readonly cronId: string;
  /** The version of the specification that the caller has read. */
  readonly version: number;
  /** The due time that starts the run, in ms; null: a start by hand, which leaves the schedule alone. */
  readonly dueMs: number | null;
  /** The due time after it; null: there is none. */
  readonly nextMs: number | null;
  /** Due times that start no run. */
  readonly missed: number;
  /** The cron has no further due time after this number of runs of due times; null: no such limit. */
  readonly maxRuns: number | null;
  /** For the list of the cron's runs. */
  readonly entry: CronRun;
}

/** What became of a due time or of a start by hand. */
export interface CronRun {
  readonly id: string;
  readonly trigger: 'scheduled' | 'manual';
  /** The due time, as ISO 8601. */
  readonly scheduledFor: string;
  readonly createdAt: string;
  /** Absent when no run was started. */
  readonly runId?: string;
  readonly threadId?: string;
  /** Its number among the runs of due times, from 1; absent: started by hand, or by a version that did not count. */
  readonly number?: number;
  /** Whether the agent of the run has stopped the schedule. */
  readonly hasStopped?: boolean;
  /** Why no run was started. */
  readonly error?: string;
}

/** What a cron is to do; the text belongs to the caller, the store does not read it. */
export interface CronDraft {
  readonly userId: string;
  readonly cronId: string;
  readonly spec: string;
  /** The next due time in ms; null: none. Absent, for a cron that exists: it stays. */
  readonly dueMs?: number | null;
  /** The number of runs of due times after which there is no further due time; null: no limit. */
  readonly maxRuns: number | null;
}

export interface StoredCron extends Omit<CronDraft, 'maxRuns'> {
  readonly dueMs: number | null;
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Runs that it has started. */
  readonly started: number;
  /** Of these, how many due times have started. */
  readonly automatic: number;
  /** The run whose agent has stopped the schedule; null: none did since it was last changed. */
  readonly stoppedBy: string | null;
  /** Due times that started no run. */
  readonly missed: number;
  /** How often the start of the current due time was put off. */
  readonly retries: number;
  /** When it last started a run, or left a due time without one. */
  readonly lastAt: string | null;
  readonly lastRunId: string | null;
  readonly lastThreadId: string | null;
  /** Why the last due time started no run. */
  readonly lastError: string | null;
}

export interface TakenCrons {
  /** The clock of the store. */
  readonly nowMs: number;
  /** Until the next cron is due; null: none is. */
  readonly waitMs: number | null;
  readonly crons: readonly StoredCron[];
  /** `<user>/<cron>` whose record cannot be read; they are looked at again after the lease. */
  readonly damaged: readonly string[];
}

/**
 * The crons of users. Each decision is one script; a due time starts one run, because the script that admits the run moves
 * the cron on (`ThreadStore.admit` with `cron`). All methods throw UnavailableError when Redis does not answer in time.
 */
export interface CronStore {
  /** The clock of the store in ms, by which due times are compared. */
  now(): Promise<number>;
  /** @throws {QuotaError} when the user has all the crons that he may have */
  create(cron: CronDraft): Promise<StoredCron>;
  /**
   * Replaces a specification.
   *
   * @throws {ConflictError} when it was changed since, or has a due time although its runs are used up; {NotFoundError}
   */
  replace(cron: CronDraft, version: number): Promise<StoredCron>;
  /** @throws {NotFoundError} */
  get(userId: string, cronId: string): Promise<StoredCron>;
  /** All crons of the user, oldest first. */
  list(userId: string): Promise<readonly StoredCron[]>;
  /** Crons of all users that have a due time, the next one first. @throws {InvalidRequestError} for an invalid cursor */
  page(query: SetQuery): Promise<{ readonly crons: readonly StoredCron[]; readonly nextCursor: string | null }>;
  /** Whether it was there. */
  remove(userId: string, cronId: string): Promise<boolean>;
  /** Takes crons that are due; no other process gets them for `leaseMs`. */
  take(options: { readonly limit: number; readonly perUser: number; readonly leaseMs: number }): Promise<TakenCrons>;
  /** Leaves a due time without a run; with `retryMs` it is tried again then. False: another decision was made before. */
  pass(
    userId: string,
    start: CronStart,
    options: { readonly error: string; readonly retryMs?: number },
  ): Promise<boolean>;
  /** What became of its due times, newest first. */
  runs(
    userId: string,
    cronId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<readonly CronRun[]>;
  /** Removes all crons of a user. */
  removeAll(userId: string): Promise<void>;
}
