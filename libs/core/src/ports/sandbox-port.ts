import type { OutputPiece, SandboxBinding, SandboxOperation, SandboxReply, SandboxRequest } from '@caribou/contracts';

/** The caller's identity, verified by the sandbox-manager. */
export interface SandboxScope {
  readonly userId: string;
  readonly threadId: string;
  readonly epoch: number;
}

/** One operation of the sandbox: request and reply are those of its contract. */
export type SandboxCall<Name extends SandboxOperation> = (
  scope: SandboxScope,
  request: SandboxRequest<Name>,
  signal: AbortSignal,
) => Promise<SandboxReply<Name>>;

export type SandboxCalls = { readonly [Name in SandboxOperation]: SandboxCall<Name> };

/** Creates every operation by one function. */
export const mapOperations = (
  make: <Name extends SandboxOperation>(name: Name) => SandboxCall<Name>,
): SandboxCalls => ({
  exec: make('exec'),
  read: make('read'),
  readBytes: make('readBytes'),
  write: make('write'),
  edit: make('edit'),
  list: make('list'),
  glob: make('glob'),
  grep: make('grep'),
  stat: make('stat'),
});

/**
 * A thread's sandbox as tools use it; it is acquired on first use. `key` is `run_id:tool_call_id`: the same key never
 * executes twice, whichever process calls. All methods take the run's signal: an abort stops the wait, and cancels the
 * command when the run was cancelled (not when the lease was lost).
 *
 * @throws {UnavailableError} when no sandbox is available; the message names what is missing.
 * @throws {ConflictError} when the key was used with other arguments.
 * @throws {FencedError} when the epoch is not the thread's current one.
 * @throws {RunDraining} when this process can reach neither the bus nor the journal: the process that resumes the run
 *   repeats the request.
 */
export interface SandboxPort extends SandboxCalls {
  exec(
    scope: SandboxScope,
    request: SandboxRequest<'exec'> & {
      /**
       * Receives the command's output while it runs, unless it ends at once. A piece may be lost; none is delivered
       * twice.
       */
      readonly onOutput?: (piece: OutputPiece) => void;
    },
    signal: AbortSignal,
  ): Promise<SandboxReply<'exec'>>;
  /**
   * Records in the audit that a command was blocked before it reached the sandbox. A failure to record is logged; only
   * the signal's reason is thrown.
   */
  blocked(
    scope: SandboxScope,
    request: { readonly key: string; readonly command: string; readonly rules: readonly string[] },
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Cancels the execution of a key at the manager of the thread's sandbox; does nothing when none runs. Resolves once
   * the manager has been reached.
   *
   * @throws {FencedError} when the epoch is not the thread's current one
   * @throws {UnavailableError}, {DeadlineError} when the manager could not be reached
   */
  cancel(scope: SandboxScope, key: string, signal: AbortSignal): Promise<void>;
  /** The binding, if the sandbox was acquired in this run. */
  binding(scope: SandboxScope): SandboxBinding | undefined;
  /** Releases the sandbox at the end of the run; never throws for a sandbox that no longer exists. */
  release(scope: SandboxScope): Promise<void>;
}

/** Abort reason of a cancelled run; unlike the loss of a run it is passed on to the executors. */
export class RunCancelled extends Error {
  constructor(readonly action: 'interrupt' | 'rollback') {
    super(`run cancelled (${action})`);
    this.name = 'RunCancelled';
  }
}
/** Abort reason of a run that exceeded its time limit; handled like a cancel. */
export class RunTimedOut extends RunCancelled {
  constructor(readonly limitMs: number) {
    super('interrupt');
    this.name = 'RunTimedOut';
    this.message = `Execution timed out after ${Math.round(limitMs / 1000)} seconds`;
  }
}
export class RunLost extends Error {
  constructor(reason: string) {
    super(`run lost: ${reason}`);
    this.name = 'RunLost';
  }
}
/**
 * This process cannot continue the run, as it stops or lacks what the run needs: another one resumes it at its last
 * commit.
 */
export class RunDraining extends Error {
  constructor(message = 'run is handed over', options?: ErrorOptions) {
    super(message, options);
    this.name = 'RunDraining';
  }
}
