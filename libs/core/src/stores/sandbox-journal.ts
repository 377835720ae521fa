import type { SandboxDriverKind } from '@caribou/contracts';
import type { ThreadKey } from '../util/thread-key.js';

/**
 * Ports to the shared state of sandboxes: the manager of a thread's sandbox, and its executions.
 *
 * Invariants of every implementation (times are the store's clock, never a process's):
 *  - A manager id identifies one process start and is never reused, so a manager that has stopped never returns.
 *  - All checks of a call and its write are one atomic step.
 *  - `start` answers `new` at most once per key, except to the manager that got `new` before (see `start`).
 *  - An entry that is `done` never changes. Entries exist at least as long as their run is in flight.
 * Every method throws UnavailableError when the store does not answer in time; whether a write took place is then
 * unknown, and repeating the same call is safe.
 */

/** The binding of a thread to its sandbox. */
export interface SandboxRecord {
  /** Empty when its manager has given the thread back. */
  readonly managerId: string;
  readonly sandboxId: string;
  readonly driver: SandboxDriverKind;
}

/** A binding that the caller proposes, under the epoch of the thread's lease it acts for. */
export interface SandboxProposal extends SandboxRecord {
  /** Absent for a manager that acts for no run: it only takes over from one that is gone. */
  readonly epoch?: number;
  /** The `lapse` of an earlier answer, old enough that a live manager would have renewed its lease since. */
  readonly lapse?: string;
}

/** The answer to a proposal. */
export interface SandboxBinding extends SandboxRecord {
  /**
   * Set when the manager's lease expired without being released: the manager is dead, or the store's clock has jumped.
   * Identifies the last renewal; a proposal that repeats it takes the sandbox over unless the lease was renewed since.
   */
  readonly lapse?: string;
}

export interface SandboxRegistry {
  /**
   * Sets or prolongs the manager's own lease by `ttlMs` from now. `lapsed` is true when the manager's earlier lease had
   * expired: others may have taken bindings over meanwhile. The first call answers false.
   */
  renewManager(managerId: string, ttlMs: number): Promise<{ readonly lapsed: boolean }>;
  /** Releases the manager's lease; its bindings may then be taken over at once. Idempotent. */
  releaseManager(managerId: string): Promise<void>;
  /** Whether the manager's lease is valid; false for the empty id of a thread that was given back. */
  isManagerAlive(managerId: string): Promise<boolean>;
  /** The thread's current binding, or null when it never had one. */
  binding(thread: ThreadKey): Promise<SandboxRecord | null>;
  /**
   * Returns the binding after the call. No binding: the proposal is written. Bound to the proposer, or to another
   * manager with a valid lease: the existing record, unchanged. Bound to a manager that released its lease: the
   * proposal takes over. Bound to a manager whose lease expired: the proposal takes over if it names that `lapse`, else
   * the existing record with the lapse.
   *
   * @throws FencedError when `epoch` is not the thread's current lease epoch
   * @throws ConflictError when a takeover would change the driver of the existing record
   */
  bind(thread: ThreadKey, proposal: SandboxProposal): Promise<SandboxBinding>;
  /**
   * Gives a thread back that is bound to the manager, so that the next proposal takes over although the manager lives; of the binding the
   * driver remains. Returns false when the thread is not bound to it. Idempotent.
   */
  giveBack(thread: ThreadKey, managerId: string): Promise<boolean>;
  /** The epoch under which the thread is owned, even if the lease expired and nobody claimed it since; else 0. */
  currentEpoch(thread: ThreadKey): Promise<number>;
}

/** The journal entry of an execution, written before it starts. */
export interface ExecutionEntry {
  /** `run_id:tool_call_id`; unique within the thread. */
  readonly key: string;
  /** Hash of everything that decides what the execution does. */
  readonly argsHash: string;
  readonly kind: 'exec' | 'write';
  /** The caller's epoch of the thread's lease. */
  readonly epoch: number;
  readonly managerId: string;
  readonly sandboxId: string;
}

export type ExecutionState =
  | { readonly state: 'new' }
  | { readonly state: 'running'; readonly managerId: string }
  | { readonly state: 'done'; readonly result: unknown }
  /** The key is known with another `argsHash`. */
  | { readonly state: 'mismatch' };

/** Where a method throws FencedError, its `details.reason` says whether it is the epoch (`another_epoch`) or the manager. */
export interface ExecutionJournal {
  /**
   * Enters the execution as started and answers `new`: only the caller may now start it. For a known key it answers the
   * recorded state and writes nothing; if the calling manager itself started it, it answers `running` with that
   * manager's id (the manager knows from its memory whether the process ever started).
   *
   * @throws FencedError when `epoch` is not the thread's current lease epoch, or the thread's binding does not name
   *   this manager and this sandbox
   */
  start(thread: ThreadKey, entry: ExecutionEntry): Promise<ExecutionState>;
  /** What `start` would answer, with the same checks, without writing. */
  peek(thread: ThreadKey, entry: ExecutionEntry): Promise<ExecutionState>;
  /**
   * Stores the result (JSON, at most 2 MiB) under the key. A repetition by the same manager is a no-op.
   *
   * @throws FencedError when `managerId` did not start the key, or it ended as unknown meanwhile
   */
  finish(
    thread: ThreadKey,
    key: string,
    outcome: { readonly managerId: string; readonly result: unknown },
  ): Promise<void>;
  /**
   * Ends an execution that `startedBy` started and can no longer report, by storing `result` instead. Returns the
   * stored result; an earlier one is not replaced.
   *
   * @throws FencedError when the thread's binding does not name `by`, or the key was not started by `startedBy`
   */
  markUnknown(thread: ThreadKey, key: string, lost: LostExecution): Promise<{ readonly result: unknown }>;
  /** Reads the state of the execution for a caller whose manager does not answer. Writes and checks nothing. */
  find(thread: ThreadKey, call: Pick<CalledExecution, 'key' | 'argsHash'>): Promise<ExecutionState>;
  /**
   * Prevents an execution that was not started from ever starting: stores `result` for it and answers `withdrawn`. For
   * a known key it answers the recorded state and writes nothing.
   *
   * @throws FencedError when `epoch` is not the thread's current lease epoch
   */
  withdraw(
    thread: ThreadKey,
    call: CalledExecution,
    result: unknown,
  ): Promise<Exclude<ExecutionState, { state: 'new' }> | { readonly state: 'withdrawn' }>;
}

/** An execution as identified by its caller, who does not know the manager. */
export type CalledExecution = Pick<ExecutionEntry, 'key' | 'argsHash' | 'kind' | 'epoch'>;

export interface LostExecution {
  readonly startedBy: string;
  /** The manager that now holds the thread's binding. */
  readonly by: string;
  readonly result: unknown;
}
