import { type SandboxDriverKind, UnavailableError } from '@caribou/contracts';
import type { OutputListener, ThreadKey } from '@caribou/core';

/** The sandbox of one thread, as a driver needs to know it. */
export interface SandboxSpec extends ThreadKey {
  /** Stable for the thread, so that a manager that takes the thread over finds what its predecessor left. */
  readonly sandboxId: string;
  /** The manager that creates it. */
  readonly managerId: string;
}

export interface SandboxCommand {
  readonly command: string;
  readonly timeoutMs: number;
  /** Most bytes of stdout and stderr together that the result holds. */
  readonly maxOutputBytes: number;
  /** Largest file the command may write, when less than what the settings allow. */
  readonly maxFileBytes?: number;
  /** Receives the output of the command as it arrives. It must not throw. */
  readonly onOutput?: OutputListener;
}

/**
 * Why a command ended: by itself, at its time-out, by the caller's signal, for endless output, or for too many
 * files.
 */
export type EndedBy = 'exit' | 'timeout' | 'cancel' | 'output' | 'quota';

export interface CommandResult {
  /** The exit code of the command; 128 + n when signal n ended it. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Bytes of output that the result leaves out. */
  readonly truncatedBytes: number;
  readonly endedBy: EndedBy;
  readonly durationMs: number;
}

/** A sandbox that a manager of this machine or engine left or holds. */
export interface SandboxInfo extends SandboxSpec {
  readonly running: boolean;
  /** Distinguishes this sandbox from one that is made under the same sandbox id later. */
  readonly instance: string;
}

export type Probe = { readonly ok: true; readonly detail: string } | { readonly ok: false; readonly reason: string };

/** The sandbox does not exist any more; thrown by `exec` only when the command certainly did not start. */
export class SandboxGoneError extends UnavailableError {}

/**
 * Isolation by one means. Whatever the driver:
 *
 *  D1  a command runs as the dedicated user, without capabilities, new privileges, network or the host's environment
 *  D2  of the host it sees system files read-only, and of users' data only the three directories of its thread
 *  D3  when `exec` settles nothing that the command started still runs
 *  D4  one command at a time per sandbox; the caller ensures it
 *  D5  the files of a thread outlive every sandbox; only `/tmp` and processes belong to the sandbox
 */
export interface SandboxDriver {
  readonly kind: SandboxDriverKind;
  /** Whether commands can run here, tried for real; the reason says what to install or to change. Never throws. */
  probe(): Promise<Probe>;
  /**
   * Makes the sandbox ready for commands. With `fresh`, remains of an earlier manager are ended and removed
   * first; else a sandbox that is ready stays as it is. Idempotent.
   *
   * @throws {UnavailableError} when it cannot be made
   */
  create(sandbox: SandboxSpec, options: { readonly fresh: boolean }): Promise<void>;
  /**
   * Runs a command in /mnt/user-data/workspace until it ends, its time is up, or the signal aborts (then it is killed
   * with all it started, and the result says so).
   *
   * @throws {SandboxGoneError} when the sandbox does not exist, so nothing ran
   * @throws {UnavailableError} when the engine failed in between: the command may have run
   * @throws {InvalidRequestError} for a command over 120 KiB
   */
  exec(sandbox: SandboxSpec, command: SandboxCommand, signal: AbortSignal): Promise<CommandResult>;
  /** Ends what runs in the sandbox and removes it; the files stay. Idempotent. */
  remove(sandbox: SandboxSpec): Promise<void>;
  /**
   * Whether the sandbox exists and accepts commands; always true where a sandbox lasts only as long as its command.
   *
   * @throws {UnavailableError} when that cannot be determined
   */
  isAlive(sandbox: SandboxSpec): Promise<boolean>;
  /**
   * Identifies what the sandboxes of this driver live in: on one machine, drivers of one kind with the same domain list
   * and end each other's sandboxes. Undefined when that is unknown.
   *
   * @throws {UnavailableError} when the engine does not answer
   */
  domain(): Promise<string | undefined>;
  /** Sandboxes of this installation, of all managers. @throws {UnavailableError} when the engine does not answer */
  list(): Promise<readonly SandboxInfo[]>;
  /**
   * Ends and removes the very sandbox that was listed; one that was made under its sandbox id since stays. Idempotent.
   *
   * @throws {UnavailableError} when the engine does not answer
   */
  removeInstance(listed: SandboxInfo): Promise<void>;
  /** How many sandboxes wait for a thread that needs one at once; without it the driver makes none ahead. */
  warmSandboxes?(): number;
  /** Ends what the driver has besides sandboxes that were created, such as connections. It is not used any more. */
  close?(): Promise<void>;
}

/** Longest command: the kernel takes 128 KiB for one argument. */
export const MAX_COMMAND_BYTES = 120 * 1024;
