/**
 * Ports to the shared state behind sandboxes: who manages a thread's sandbox, and what was executed in it.
 *
 * Invariants every implementation keeps (times are the store's clock, never a process's):
 *  - A manager id names one process start and is never used again, so "this manager is gone" is final.
 *  - All checks of a call and its write are one atomic step.
 *  - `start` answers `new` at most once per key, except to the manager that got `new` before (see `start`).
 *  - An entry that is `done` never changes. Entries live at least as long as the event log of their run.
 * Every method throws UnavailableError when the store does not answer in time; whether a write took place is then
 * unknown, and repeating the same call is safe.
 */

/** Whose sandbox: a thread has one. Both ids match the strict pattern of @caribou/contracts. */
export interface SandboxThread {
  readonly userId: string;
  readonly threadId: string;
}

export type SandboxDriverKind = 'docker' | 'bwrap';

/** The binding of a thread to its sandbox. */
export interface SandboxRecord {
  readonly managerId: string;
  readonly sandboxId: string;
  readonly driver: SandboxDriverKind;
}

/** A binding that the caller proposes, under the epoch of the thread's lease it acts for. */
export interface SandboxProposal extends SandboxRecord {
  readonly epoch: number;
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
   * manager whose lease lives: the existing record, unchanged. Bound to a manager without a lease: taken over for the
   * proposal.
   *
   * @throws FencedError when `epoch` is not the thread's current lease epoch
   * @throws ConflictError when a takeover would change the driver of the existing record
   */
  bind(thread: SandboxThread, proposal: SandboxProposal): Promise<SandboxRecord>;
  /** The epoch of the thread's live lease; 0 when nobody holds it. */
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
}

export interface LostExecution {
  readonly startedBy: string;
  /** The manager that now holds the thread's binding. */
  readonly by: string;
  readonly result: unknown;
}
