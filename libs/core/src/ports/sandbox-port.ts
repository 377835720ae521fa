import type { CommandAudit, FileExpectation, OutputPiece, SandboxBinding } from '@caribou/contracts';

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
      /** Of the whole file, in hex; absent when the sandbox's manager does not tell. */
      readonly sha256?: string;
    }
  | { readonly outcome: 'refused'; readonly reason: string };

export type BytesOutcome =
  | { readonly outcome: 'ok'; readonly bytes: Uint8Array; readonly totalBytes: number }
  | { readonly outcome: 'refused'; readonly reason: string };

export type WriteOutcome =
  | { readonly outcome: 'ok'; readonly bytes: number }
  | { readonly outcome: 'refused'; readonly reason: string; readonly message?: string | undefined }
  | { readonly outcome: 'unknown'; readonly reason: string };

/** Virtual paths below a directory that was looked through. */
export type FoundOutcome =
  | {
      readonly outcome: 'ok';
      /** Directories end in a slash. */
      readonly paths: readonly string[];
      /** There are more than were asked for. */
      readonly truncated: boolean;
      /** Not everything was looked at: there was too much of it. */
      readonly incomplete: boolean;
    }
  | { readonly outcome: 'refused'; readonly reason: string };

export type GrepOutcome =
  | {
      readonly outcome: 'ok';
      /** `line` is 1-based, `text` the line, shortened. */
      readonly matches: readonly { readonly path: string; readonly line: number; readonly text: string }[];
      readonly truncated: boolean;
      readonly incomplete: boolean;
    }
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'invalid_pattern'; readonly message: string };

/** A regular file, or why it is none that can be had. */
export type FileFound =
  | { readonly outcome: 'file'; readonly bytes: number }
  | { readonly outcome: 'refused'; readonly reason: string };

/** 1-based and inclusive, in the file as it is after the edit. */
export interface LineRange {
  readonly first: number;
  readonly last: number;
}

export type EditOutcome =
  | { readonly outcome: 'ok'; readonly replaced: number; readonly changed: readonly LineRange[] }
  /** Nothing was changed: the text occurs `count` times, which is 0, or more than one where one was meant. */
  | { readonly outcome: 'not_unique'; readonly count: number }
  | { readonly outcome: 'refused'; readonly reason: string; readonly message?: string | undefined }
  | { readonly outcome: 'unknown'; readonly reason: string };

/** A request that changes nothing and may be repeated. */
interface Look {
  /** `run_id:tool_call_id` that it is made for, for the audit. */
  readonly key?: string;
}

/** What to look for below a directory. */
export interface DirectoryQuery extends Look {
  /** Virtual path of the directory. */
  readonly path: string;
  readonly maxResults: number;
}

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
export interface SandboxPort {
  exec(
    scope: SandboxScope,
    request: {
      readonly key: string;
      readonly command: string;
      readonly timeoutMs: number;
      readonly maxOutputBytes: number;
      /** What the rules said of the command; only put on record. */
      readonly audit?: CommandAudit;
      /** Hears what the command writes while it runs, once it goes on for longer than a moment. Pieces may be lost, none comes twice. */
      readonly onOutput?: (piece: OutputPiece) => void;
    },
    signal: AbortSignal,
  ): Promise<ExecOutcome>;
  read(
    scope: SandboxScope,
    request: Look & {
      readonly path: string;
      readonly startLine?: number;
      readonly endLine?: number;
      readonly maxBytes: number;
    },
    signal: AbortSignal,
  ): Promise<ReadOutcome>;
  write(
    scope: SandboxScope,
    request: {
      readonly key: string;
      readonly path: string;
      readonly content: string;
      /** Of the content; default utf8. */
      readonly encoding?: 'utf8' | 'base64';
      readonly append: boolean;
      /** Refused as `changed` when there is a file that is another one; checked together with the write. */
      readonly expected?: FileExpectation;
    },
    signal: AbortSignal,
  ): Promise<WriteOutcome>;
  /** Replaces a text in a file, once per key. */
  edit(
    scope: SandboxScope,
    request: {
      readonly key: string;
      readonly path: string;
      readonly oldText: string;
      readonly newText: string;
      /** Else the text must occur once. */
      readonly replaceAll: boolean;
      /** As for `write`. */
      readonly expected?: FileExpectation;
    },
    signal: AbortSignal,
  ): Promise<EditOutcome>;
  /** Entries down to `depth`, sorted; 1 for the directory's own. */
  list(
    scope: SandboxScope,
    request: DirectoryQuery & { readonly depth: number },
    signal: AbortSignal,
  ): Promise<FoundOutcome>;
  /** Files that match a pattern. */
  glob(
    scope: SandboxScope,
    request: DirectoryQuery & { readonly pattern: string; readonly includeDirectories: boolean },
    signal: AbortSignal,
  ): Promise<FoundOutcome>;
  /** Lines of text files that match a pattern; `glob` narrows the files. */
  grep(
    scope: SandboxScope,
    request: DirectoryQuery & {
      readonly pattern: string;
      readonly literal: boolean;
      readonly caseSensitive: boolean;
      readonly glob?: string;
    },
    signal: AbortSignal,
  ): Promise<GrepOutcome>;
  /** A part of a file as bytes, at most 512 KiB; empty behind its end. `key` says which tool call asks, for the audit. */
  readBytes(
    scope: SandboxScope,
    request: { readonly path: string; readonly offset: number; readonly maxBytes: number; readonly key?: string },
    signal: AbortSignal,
  ): Promise<BytesOutcome>;
  /** Whether files are there, in the order asked. */
  stat(
    scope: SandboxScope,
    request: Look & { readonly paths: readonly string[] },
    signal: AbortSignal,
  ): Promise<readonly FileFound[]>;
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
