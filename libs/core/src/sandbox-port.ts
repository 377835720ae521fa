import type { SandboxBinding } from '@caribou/contracts';

/** Who asks, checked by the sandbox-manager itself. */
export interface SandboxScope {
  readonly userId: string;
  readonly threadId: string;
  readonly epoch: number;
}

export type ExecOutcome =
  | {
      readonly outcome: 'done';
      readonly exitCode: number;
      readonly stdout: string;
      readonly stderr: string;
      readonly truncatedBytes: number;
      readonly timedOut: boolean;
      readonly cancelled: boolean;
      readonly durationMs: number;
    }
  | { readonly outcome: 'unknown'; readonly reason: string };

export type ReadOutcome =
  | {
      readonly outcome: 'ok';
      readonly text: string;
      readonly totalBytes: number;
      readonly totalLines: number;
      readonly truncated: boolean;
    }
  | { readonly outcome: 'refused'; readonly reason: string };

export type WriteOutcome =
  | { readonly outcome: 'ok'; readonly bytes: number }
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'unknown'; readonly reason: string };

/**
 * A thread's sandbox as tools see it; acquisition is lazy and happens inside. `key` is `run_id:tool_call_id`: the same
 * key never executes twice, whoever asks. All methods take the run's signal: an abort stops the wait, and cancels the
 * command when the run was cancelled (not when the lease was lost).
 *
 * @throws {UnavailableError} when no sandbox can be had; the message says what is missing.
 * @throws {ConflictError} when the key was used with other arguments.
 * @throws {FencedError} when the epoch is not the thread's current one.
 */
export interface SandboxPort {
  exec(
    scope: SandboxScope,
    request: {
      readonly key: string;
      readonly command: string;
      readonly timeoutMs: number;
      readonly maxOutputBytes: number;
    },
    signal: AbortSignal,
  ): Promise<ExecOutcome>;
  read(
    scope: SandboxScope,
    request: {
      readonly path: string;
      readonly startLine?: number;
      readonly endLine?: number;
      readonly maxBytes: number;
    },
    signal: AbortSignal,
  ): Promise<ReadOutcome>;
  write(
    scope: SandboxScope,
    request: { readonly key: string; readonly path: string; readonly content: string; readonly append: boolean },
    signal: AbortSignal,
  ): Promise<WriteOutcome>;
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
export class RunLost extends Error {
  constructor(reason: string) {
    super(`run lost: ${reason}`);
    this.name = 'RunLost';
  }
}
/** The process is asked to stop: finish the step, then hand the run over. */
export class RunDraining extends Error {
  constructor() {
    super('run is handed over');
    this.name = 'RunDraining';
  }
}
