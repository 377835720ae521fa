import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { AgentExecHead } from '@caribou/contracts';
import { CommandOutput, errnoOf, type OutputListener, settlesWithin, systemClock, VIRTUAL_ROOT } from '@caribou/core';
import { endAll } from './end-all.js';
import type { ProcessOne } from './process-one.js';

export type EndedBy = 'exit' | 'timeout' | 'cancel' | 'output' | 'quota';

export interface CommandEnd {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncatedBytes: number;
  readonly endedBy: EndedBy;
  readonly durationMs: number;
}

const WORKING_DIRECTORY = `${VIRTUAL_ROOT}/workspace`;
/** POSIX: the unit of a shell's `ulimit -f`. */
const BLOCK_BYTES = 512;
/** Exit code of a command that SIGKILL ended. */
const KILLED = 137;
/** Exit code of a command that no shell could be started for. */
const NOT_FOUND = 127;
/** What was written before the end is read within this time. */
const LAST_OUTPUT_MS = 5_000;

/**
 * Shell: runs the command ($1) under the best shell there is, as the first to be ended when memory runs out, with files of at most $2
 * blocks, $3 open ones and, where it is given, $4 processes. A limit that cannot be set is lower already.
 */
const WRAPPER = `{ echo 1000 >/proc/self/oom_score_adj
ulimit -c 0
ulimit -f "$2"
ulimit -n "$3"
[ -z "$4" ] || ulimit -u "$4" || ulimit -p "$4"
} 2>/dev/null
if [ -x /bin/bash ]; then exec /bin/bash -c "$1"; else exec /bin/sh -c "$1"; fi`;

/** A command of the sandbox, from its start to the moment when nothing of it lives. */
export class CommandRun {
  private endedBy: EndedBy = 'exit';
  private ending: Promise<void> | undefined;
  private child: ChildProcess | undefined;

  constructor(
    private readonly one: ProcessOne,
    private readonly head: AgentExecHead,
    private readonly onOutput: OutputListener | undefined,
  ) {}

  /** Ends it, with all that it has started. Without effect when something else has ended it. */
  end(by: EndedBy): void {
    if (this.ending !== undefined) return;
    this.endedBy = by;
    this.ending = this.child === undefined ? Promise.resolve() : endAll(this.one);
    // The failure is reported by `run`.
    this.ending.catch(() => undefined);
  }

  /** Starts it, unless it was ended before. @throws {UnavailableError} when something of it does not end */
  async run(): Promise<CommandEnd> {
    const startedMs = performance.now();
    const { maxOutputBytes, outputCeilingBytes, timeoutMs } = this.head;
    const limits = { maxBytes: maxOutputBytes, ceilingBytes: outputCeilingBytes };
    const output = new CommandOutput(limits, () => this.end('output'), this.onOutput);
    let exitCode = KILLED;
    if (this.ending === undefined) {
      const timer = setTimeout(() => this.end('timeout'), timeoutMs);
      exitCode = await this.runProcess(output).finally(() => clearTimeout(timer));
    }
    return { exitCode, ...output.take(), endedBy: this.endedBy, durationMs: performance.now() - startedMs };
  }

  private async runProcess(output: CommandOutput): Promise<number> {
    const child = this.start(output);
    this.child = child;
    this.one.child = child.pid;
    const closed = once(child, 'close');
    closed.catch(() => undefined);
    try {
      const exitCode = await exitOf(child);
      this.one.child = undefined;
      // What it has started still runs, and holds its output open.
      await (this.ending ?? endAll(this.one));
      await settlesWithin(closed, LAST_OUTPUT_MS, systemClock);
      return this.ending === undefined ? exitCode : KILLED;
    } finally {
      this.one.child = undefined;
      child.stdout?.destroy();
      child.stderr?.destroy();
    }
  }

  private start(output: CommandOutput): ChildProcess {
    const { command, maxFileBytes, openFiles, processes, environment } = this.head;
    const blocks = String(Math.floor(maxFileBytes / BLOCK_BYTES));
    const argv = ['-c', WRAPPER, 'sh', command, blocks, String(openFiles), String(processes ?? '')];
    const child = spawn('/bin/sh', argv, {
      cwd: WORKING_DIRECTORY,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    child.stdout.on('data', (chunk: Buffer) => this.take(output, 'out', chunk));
    child.stderr.on('data', (chunk: Buffer) => this.take(output, 'err', chunk));
    return child;
  }

  /** What arrives after the ceiling is dropped. */
  private take(output: CommandOutput, stream: 'out' | 'err', chunk: Buffer): void {
    if (this.endedBy !== 'output') output.push(stream, chunk);
  }
}

/** Resolves with the exit code, as a shell would say it; 127 when the shell cannot be started. */
async function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => (errnoOf(error) === 'ENOENT' ? resolve(NOT_FOUND) : reject(error)));
    child.once('exit', (code, signal) => resolve(signal === null ? (code ?? KILLED) : 128 + constants.signals[signal]));
  });
}
