import type { SandboxDriverKind } from '@caribou/contracts';

/**
 * Ports to the shared state behind sandboxes: who manages a thread's sandbox, and what was executed in it.
 *
 * Invariants every implementation keeps (times are the store's clock, never a process's):
 *  - A manager id names one process start and is never used again, so "this manager is gone" is final.
 *  - All checks of a call and its write are one atomic step.
 *  - `start` answers `new` at most once per key, except to the manager that got `new` before (see `start`).
 *  - An entry that is `done` never changes. Entries live at least as long as their run is in flight.
 * Every method throws UnavailableError when the store does not answer in time; whether a write took place is then
 * unknown, and repeating the same call is safe.
 */

/** Whose sandbox: a thread has one. Both ids match the strict pattern of @caribou/contracts. */
export interface SandboxThread {
  readonly userId: string;
  readonly threadId: string;
}

/** The binding of a thread to its sandbox. */
export interface SandboxRecord {
  readonly managerId: string;
  readonly sandboxId: string;
  readonly driver: SandboxDriverKind;
}

/** A binding that the caller proposes, under the epoch of the thread's lease it acts for. */
export interface SandboxProposal extends SandboxRecord {
  readonly epoch: number;
  /** The `lapse` of an earlier answer, since which a live manager would have renewed its lease. */
  readonly lapse?: string;
}

/** The answer to a proposal. */
export interface SandboxBinding extends SandboxRecord {
  /**
   * Set while the manager's lease has run out though the manager never gave it up: it is dead, or the store's clock has
   * jumped. Names the lease's last renewal; proposed with again, it takes the sandbox over unless one has come since.
   */
  readonly lapse?: string;
}

export interface SandboxRegistry {
  /**
   * Sets or prolongs the manager's own lease by `ttlMs` from now. `lapsed` is true when the lease had been held
   * before and was found absent: others may have taken bindings over meanwhile. The first call answers false.
   */
  renewManager(managerId: string, ttlMs: number): Promise<{ readonly lapsed: boolean }>;
  /** Gives the manager's lease up at once; its bindings may then be taken over. Idempotent. */
  releaseManager(managerId: string): Promise<void>;
  isManagerAlive(managerId: string): Promise<boolean>;
  /** The thread's binding as it stands, or null when it never had one. */
  binding(thread: SandboxThread): Promise<SandboxRecord | null>;
  /**
   * The binding that holds after the call. No binding: the proposal is written. Bound to the proposer, or to another
   * manager whose lease lives: the existing record, unchanged. Bound to a manager that gave its lease up: taken over for
   * the proposal. Bound to a manager whose lease has run out: taken over when the proposal names that `lapse`, else the
   * existing record with the lapse.
   *
   * @throws FencedError when `epoch` is not the thread's current lease epoch
   * @throws ConflictError when a takeover would change the driver of the existing record
   */
  bind(thread: SandboxThread, proposal: SandboxProposal): Promise<SandboxBinding>;
  /** The epoch under which the thread is owned, also when its lease has lapsed and nobody claimed it since; else 0. */
  currentEpoch(thread: SandboxThread): Promise<number>;
}

/** An execution as it is entered before it starts. */
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
   * Enters the execution as started and answers `new`: the caller, and nobody else, may now start it. A known key
   * answers what is known of it and writes nothing; started by the very manager that asks, it answers `running` with
   * its own id (that manager knows from its memory whether the process ever began).
   *
   * @throws FencedError when `epoch` is not the thread's current lease epoch, or the thread's binding does not name
   *   this manager and this sandbox
   */
  start(thread: SandboxThread, entry: ExecutionEntry): Promise<ExecutionState>;
  /** What `start` would answer, with the same checks, without writing. */
  peek(thread: SandboxThread, entry: ExecutionEntry): Promise<ExecutionState>;
  /**
   * Keeps the result (JSON, at most 2 MiB) under the key. Repeating it by the same manager is a no-op.
   *
   * @throws FencedError when the key was not started by `managerId`, or ended as unknown meanwhile
   */
  finish(
    thread: SandboxThread,
    key: string,
    outcome: { readonly managerId: string; readonly result: unknown },
  ): Promise<void>;
  /**
   * Ends an execution that `startedBy` began and cannot report any more, by keeping `result` in its place. Answers the
   * result that is kept after the call: an earlier one wins.
   *
   * @throws FencedError when the thread's binding does not name `by`, or the key was not started by `startedBy`
   */
  markUnknown(thread: SandboxThread, key: string, lost: LostExecution): Promise<{ readonly result: unknown }>;
  /** What is known of the execution, for a caller that gets no answer from its manager. Writes and checks nothing. */
  find(thread: SandboxThread, call: Pick<CalledExecution, 'key' | 'argsHash'>): Promise<ExecutionState>;
  /**
   * Makes sure that an execution which was never started never will be: enters `result` in its place and answers
   * `withdrawn`. Of a known key it answers what is known and writes nothing.
   *
   * @throws FencedError when `epoch` is not the thread's current lease epoch
   */
  withdraw(
    thread: SandboxThread,
    call: CalledExecution,
    result: unknown,
  ): Promise<Exclude<ExecutionState, { state: 'new' }> | { readonly state: 'withdrawn' }>;
}

/** An execution as its caller names it, who does not know the manager. */
export type CalledExecution = Pick<ExecutionEntry, 'key' | 'argsHash' | 'kind' | 'epoch'>;

export interface LostExecution {
  readonly startedBy: string;
  /** The manager that now holds the thread's binding. */
  readonly by: string;
  readonly result: unknown;
}
