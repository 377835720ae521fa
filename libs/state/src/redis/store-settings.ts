import type { HeldHeads } from '../ports/run-store.js';
import type { ProcessOwner } from '../ports/process-registry.js';
import type { Prices } from '../ports/usage-ledger.js';
import type { TraceTextKeys } from './script-keys.js';

/** How the usage of models is entered. */
export interface LedgerSettings {
  /** Beginning of the keys (`StoreKeys.usage`), the same for tasks and for the threads that dispatch them. */
  readonly prefix: string;
  readonly prices: Prices;
  /** How long the usage of a day is stored. */
  readonly retentionDays: number;
  /** Limits of the cost in a day (UTC), in the currency of the prices; null: none. */
  readonly budgets: { readonly user: number | null; readonly key: number | null; readonly warnShare: number };
}

/** How traces of runs are written; all processes of an installation use the same times. */
export interface TraceSettings {
  /** How long a trace is stored after the end of its run. */
  readonly retentionMs: number;
  /** The id of this process, for admissions. */
  readonly process: string;
  /** The keys of the texts of a user: the same for tasks and for the threads that dispatch them. */
  readonly textKeys: (userId: string) => TraceTextKeys;
  /** The texts that this process has stored lately, by hash and by the user or thread that they belong to. */
  readonly written: {
    has(owner: string, hash: string): boolean;
    add(owner: string, hashes: readonly string[]): void;
  };
}

/** The times and limits of the stores. All processes of an installation use the same. */
export interface StoreOptions {
  /** How long a lease on a thread lasts without renewal, default 10 s. */
  readonly leaseMs?: number;
  /** The process under whose lease claims live; without one they live under their own leases alone. */
  readonly process?: ProcessOwner;
  /** Claims without a commit between them before a run counts as exhausted, default 5. */
  readonly maxAttempts?: number;
  /** How long events and kwargs stay readable after the end of their run, default 1 h. */
  readonly eventsTtlMs?: number;
  /** Size of a live run's event log above which it is trimmed, default 64 MiB. */
  readonly maxLogBytes?: number;
  /** The number of newest checkpoints of a thread that are always retained, default 200. */
  readonly keptCheckpoints?: number;
  /** Runs that may wait on one thread, default 100. */
  readonly maxQueuedRuns?: number;
  /** Messages that may wait to join the run of one thread, default 50. */
  readonly maxSteering?: number;
  /** Bytes of these messages, as JSON, default 4 MiB. */
  readonly maxSteeringBytes?: number;
  /** Runs of one user that may be running or queued, default 1000. */
  readonly maxInFlightRuns?: number;
  /** Bytes of the inputs and metadata of one user's runs, as long as they are stored; default 1 GiB, 0: no limit. */
  readonly maxStoredBytes?: number;
  /** Threads of one user with a run under way, default 0: no limit. */
  readonly maxRunningPerUser?: number;
  /** Threads of all users that may have something to run, default 0: no limit. */
  readonly maxPending?: number;
  /** Threads of one user, without those of stateless runs, default 0: no limit. */
  readonly maxThreads?: number;
  /** Size of a thread's state, as JSON, from which clients add no more to it, default 0: no limit. */
  readonly maxStateBytes?: number;
  /** Runs of one user that may wait for their time, default 100. */
  readonly maxDelayedRuns?: number;
  /** Events of one user that may wait for their delivery when a run with a webhook is started, default 1000. */
  readonly maxWebhookEvents?: number;
  /** How long an idempotency key is stored after the end of its run, default 24 h. */
  readonly idempotencyTtlMs?: number;
  /** How long the journals' entries are stored after the end of their run, default 24 h. */
  readonly journalTtlMs?: number;
  /** Whether what is written may have forms that services before ADR 12 cannot read, default true. */
  readonly compact?: boolean;
  /** The states that this process has; without it, each claim and each read of a state transfers all of it. */
  readonly heads?: HeldHeads;
  /** Without it, usage is counted for runs and threads only. */
  readonly ledger?: LedgerSettings;
  /** Without it, runs have no trace. */
  readonly trace?: TraceSettings;
}

type Absent = 'process' | 'heads' | 'ledger' | 'trace';

export type StoreSettings = Required<Omit<StoreOptions, Absent>> & Pick<StoreOptions, Absent>;

const HOUR_MS = 3_600_000;

export const storeSettings = (options: StoreOptions): StoreSettings => ({
  leaseMs: 10_000,
  maxAttempts: 5,
  eventsTtlMs: HOUR_MS,
  maxLogBytes: 64 * 1024 * 1024,
  keptCheckpoints: 200,
  maxQueuedRuns: 100,
  maxSteering: 50,
  maxSteeringBytes: 4 * 1024 * 1024,
  maxInFlightRuns: 1000,
  maxStoredBytes: 1024 ** 3,
  maxRunningPerUser: 0,
  maxPending: 0,
  maxThreads: 0,
  maxStateBytes: 0,
  maxDelayedRuns: 100,
  maxWebhookEvents: 1000,
  idempotencyTtlMs: 24 * HOUR_MS,
  journalTtlMs: 24 * HOUR_MS,
  compact: true,
  ...options,
});
