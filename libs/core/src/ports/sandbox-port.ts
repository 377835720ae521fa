import type { OutputPiece, SandboxBinding, SandboxOperation, SandboxReply, SandboxRequest } from '@caribou/contracts';

/** Who asks, checked by the sandbox-manager itself. */
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

/** Builds all operations with one function. */
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
 * A thread's sandbox as tools see it; acquisition is lazy and happens inside. `key` is `run_id:tool_call_id`: the same
 * key never executes twice, whoever asks. All methods take the run's signal: an abort stops the wait, and cancels the
 * command when the run was cancelled (not when the lease was lost).
 *
 * @throws {UnavailableError} when no sandbox can be had; the message says what is missing.
 * @throws {ConflictError} when the key was used with other arguments.
 * @throws {FencedError} when the epoch is not the thread's current one.
 * @throws {RunDraining} when this process can reach neither the bus nor the journal: whoever resumes the run asks again.
 */
export interface SandboxPort extends SandboxCalls {
  exec(
    scope: SandboxScope,
    request: SandboxRequest<'exec'> & {
      /**
       * Receives what the command writes while it runs, unless it ends within a moment. A piece may be lost; none is
       * delivered twice.
       */
      readonly onOutput?: (piece: OutputPiece) => void;
    },
    signal: AbortSignal,
  ): Promise<SandboxReply<'exec'>>;
  /**
   * Puts on record that a command was blocked before it reached the sandbox. When nobody can be told, the log says so;
   * throws only the signal's reason.
   */
  blocked(
    scope: SandboxScope,
    request: { readonly key: string; readonly command: string; readonly rules: readonly string[] },
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Ends the execution of a key, at whichever manager holds the thread's sandbox; does nothing when none runs. Resolves
   * once the manager has been reached.
   *
   * @throws {FencedError} when the epoch is not the thread's current one
   * @throws {UnavailableError}, {DeadlineError} when the manager could not be reached
   */
  cancel(scope: SandboxScope, key: string, signal: AbortSignal): Promise<void>;
  /** The binding once acquired in this run, else undefined. */
  binding(scope: SandboxScope): SandboxBinding | undefined;
  /** The run is over; never throws for a sandbox that is already gone. */
  release(scope: SandboxScope): Promise<void>;
}

/** Abort reasons that tell a cancel from a loss: only a cancel reaches the executors. */
export class RunCancelled extends Error {
  constructor(readonly action: 'interrupt' | 'rollback') {
    super(`run cancelled (${action})`);
    this.name = 'RunCancelled';
  }
}
/** The run took longer than it may. Whoever ends work for a cancel ends it for this. */
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
/** This process cannot go on with the run, as it stops or lacks what the run needs: another resumes it at its last commit. */
export class RunDraining extends Error {
  constructor(message = 'run is handed over', options?: ErrorOptions) {
    super(message, options);
    this.name = 'RunDraining';
  }
}
