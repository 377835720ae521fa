/** Clocks and bounds of the stores. All processes of an installation use the same. */
export interface StoreOptions {
  /** How long a thread stays with an owner that does not renew, default 10 s. */
  readonly leaseMs?: number;
  /** Claims without a commit between them before a run counts as exhausted, default 5. */
  readonly maxAttempts?: number;
  /** How long events stay readable after the end of their run, default 1 h. */
  readonly eventsTtlMs?: number;
  /** Size of a live run's event log above which it is trimmed, default 64 MiB. */
  readonly maxLogBytes?: number;
  /** Checkpoints of a thread that are always kept, default 200. */
  readonly keptCheckpoints?: number;
  /** Runs that may wait on one thread, default 100. */
  readonly maxQueuedRuns?: number;
  /** Runs of one user that may be running or queued, default 1000. */
  readonly maxInFlightRuns?: number;
  /** Threads of all users that may have something to run, default 0: no limit. */
  readonly maxPending?: number;
  /** How long an idempotency key is known, default 24 h. */
  readonly idempotencyTtlMs?: number;
}

export type StoreSettings = Required<StoreOptions>;

const HOUR_MS = 3_600_000;

export const storeSettings = (options: StoreOptions): StoreSettings => ({
  leaseMs: 10_000,
  maxAttempts: 5,
  eventsTtlMs: HOUR_MS,
  maxLogBytes: 64 * 1024 * 1024,
  keptCheckpoints: 200,
  maxQueuedRuns: 100,
  maxInFlightRuns: 1000,
  maxPending: 0,
  idempotencyTtlMs: 24 * HOUR_MS,
  ...options,
});
