import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { UnavailableError } from '@caribou/contracts';
import { isRunning, identifyProcess, type ProcessIdentity } from './bwrap-host.js';
import type { Launched } from './bwrap-launch.js';
import type { SandboxCommand, CommandResult, EndedBy } from '../drivers/driver.js';
import { withoutHostPaths } from '../drivers/host-paths.js';
import { CommandOutput } from '@caribou/core';
import { killGroup, groupMembers } from './process-group.js';

/** The kernel ends a sandbox within milliseconds; a machine that takes longer than this is in trouble. */
const END_WAIT_MS = 10_000;
const doesNotEnd = (): UnavailableError =>
  new UnavailableError('a process of the sandbox does not end', { details: { dependency: 'bwrap' } });
const MAX_STATUS_BYTES = 4096;
/** Exit code of a command that SIGKILL ended. */
const KILLED = 137;

/** The reports of bwrap about the sandbox that arrived. */
interface LaunchStatus {
  /** PID 1 of the sandbox, as this machine numbers it. */
  readonly initPid?: number;
  /** Known only if the command was started. */
  readonly exitCode?: number;
}

function parseStatus(text: string): LaunchStatus {
  const initPid = /"child-pid"\s*:\s*(\d+)/.exec(text)?.[1];
  const exitCode = /"exit-code"\s*:\s*(\d+)/.exec(text)?.[1];
  return {
    ...(initPid === undefined ? {} : { initPid: Number(initPid) }),
    ...(exitCode === undefined ? {} : { exitCode: Number(exitCode) }),
  };
}

/**
 * Resolves once the marked process is over. A sandbox's PID 1 is over only when the kernel has ended everything in its
 * process namespace.
 *
 * @throws {UnavailableError} when it still runs after ten seconds
 */
export async function waitForExit(mark: ProcessIdentity): Promise<void> {
  for (let waitedMs = 0; isRunning(mark); waitedMs += 2) {
    if (waitedMs > END_WAIT_MS) throw doesNotEnd();
    await delay(2);
  }
}

/**
 * Ends everything of a launch and resolves once it is over; the leader may be over already.
 *
 * @throws {UnavailableError} when a part of it still runs after ten seconds
 */
export async function endGroup(leader: ProcessIdentity): Promise<void> {
  killGroup(leader);
  for (const mark of groupMembers(leader)) await waitForExit(mark);
}

/** bwrap ended without a report about the command: it never began, or another process ended the sandbox. */
function noAnswer(killedBy: NodeJS.Signals | null, stderr: string): UnavailableError {
  const what =
    killedBy === null
      ? `bubblewrap could not set the sandbox up: ${withoutHostPaths(stderr.trim().slice(0, 300))}`
      : `the sandbox was ended from outside (${killedBy})`;
  return new UnavailableError(what, { cause: new Error(stderr), details: { dependency: 'bwrap' } });
}

/** By which signal bwrap ended, once everything that has its output open has ended too. @throws what `stuck` says */
async function closing(child: ChildProcess, stuck: AbortSignal): Promise<NodeJS.Signals | null> {
  try {
    const [, killedBy] = (await once(child, 'close', { signal: stuck })) as [number | null, NodeJS.Signals | null];
    return killedBy;
  } catch (error) {
    if (stuck.aborted) throw stuck.reason;
    throw error;
  }
}

interface FollowOptions {
  readonly signal: AbortSignal;
  readonly ceilingBytes: number;
  /** A command that was killed is over within this time, in milliseconds. */
  readonly endWaitMs?: number;
}

/** Follows a launched command to its end; see SandboxDriver.exec. */
export async function follow(
  launched: Launched,
  command: SandboxCommand,
  options: FollowOptions,
): Promise<CommandResult> {
  const { child, leader, stdout, stderr, status } = launched;
  const { signal, endWaitMs = END_WAIT_MS } = options;
  const startedMs = performance.now();
  const stuck = new AbortController();
  let lastMoment: NodeJS.Timeout | undefined;
  let endedBy: EndedBy = 'exit';
  const end = (by: EndedBy): void => {
    if (endedBy === 'exit') endedBy = by;
    lastMoment ??= setTimeout(() => stuck.abort(doesNotEnd()), endWaitMs);
    if (leader !== null) killGroup(leader);
  };
  const onCeiling = (): void => {
    stdout.destroy();
    stderr.destroy();
    end('output');
  };
  const limits = { maxBytes: command.maxOutputBytes, ceilingBytes: options.ceilingBytes };
  const output = new CommandOutput(limits, onCeiling, command.onOutput);
  stdout.on('data', (chunk: Buffer) => output.push('out', chunk));
  stderr.on('data', (chunk: Buffer) => output.push('err', chunk));
  let statusText = '';
  let init: ProcessIdentity | null = null;
  status.on('data', (chunk: Buffer) => {
    statusText = (statusText + chunk.toString('utf8')).slice(0, MAX_STATUS_BYTES);
    const { initPid } = parseStatus(statusText);
    if (init === null && initPid !== undefined) init = identifyProcess(initPid);
  });
  const timer = setTimeout(() => end('timeout'), command.timeoutMs);
  const onAbort = (): void => end('cancel');
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const killedBy = await closing(child, stuck.signal);
    if (init !== null) await waitForExit(init);
    const exitCode = endedBy === 'exit' ? parseStatus(statusText).exitCode : KILLED;
    const taken = output.take();
    if (exitCode === undefined) throw noAnswer(killedBy, taken.stderr);
    return { exitCode, ...taken, endedBy, durationMs: performance.now() - startedMs };
  } finally {
    clearTimeout(timer);
    clearTimeout(lastMoment);
    signal.removeEventListener('abort', onAbort);
  }
}
