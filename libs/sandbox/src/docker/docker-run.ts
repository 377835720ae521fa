import { omitUndefined } from '@caribou/contracts';
import { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type Docker from 'dockerode';
import type { Container, Exec } from 'dockerode';
import { toEngineUnavailable, engineStatus, unlessStatus, withinTime } from './docker-engine.js';
import { type SandboxCommand, SandboxGoneError, type CommandResult, type EndedBy } from '../drivers/driver.js';
import { KILLED, type KillEngine, type Killed, killAll, makeExec, SWEEP, SWEEP_ONCE } from './docker-kill.js';
import { CommandOutput } from '@caribou/core';
import { AWAIT_FORWARDER } from '../drivers/sandbox-network.js';

/** The output of a command arrives within this time after the end of its sandbox. */
const LAST_OUTPUT_MS = 2000;
/** The engine sees the end of a sandbox that a command has ended within this time. */
const LOST_CONTAINER_MS = 5000;

/**
 * Runs the command ($1) under the best shell there is, with files of at most $2 blocks and at most $3 processes where
 * these are given, and ends whatever it started, before and after; `first` is executed before it begins. Some shells call
 * the limit of processes -u, others -p.
 */
const wrapper = (first: string): string => `${SWEEP_ONCE}
${first}
[ -z "$2" ] || ulimit -f "$2"
[ -z "$3" ] || ulimit -u "$3" 2>/dev/null || ulimit -p "$3"
if [ -x /bin/bash ]; then /bin/bash -c "$1"; else /bin/sh -c "$1"; fi
code=$?
${SWEEP}
exit $code`;

/** POSIX: the unit of a shell's `ulimit -f`. */
const BLOCK_BYTES = 512;

interface Engine extends KillEngine {
  readonly docker: Docker;
  /** Whether sandboxes have an egress socket; a command begins when it is open. */
  readonly hasNetwork: boolean;
  /** How many processes a command may have, where its shell has to see to it. */
  readonly processes: number | undefined;
  /** Whether commands may start now. */
  readonly mayStart: () => boolean;
  /** Removes the container by force. @throws {UnavailableError} */
  readonly remove: () => Promise<unknown>;
}

const LOST = '\n[the sandbox was started again: what was in /tmp is gone]\n';

/** The engine's exit codes for a command that it could not start. */
const NOT_STARTED = [126, 127, 128];

const sink = (output: CommandOutput, stream: 'out' | 'err'): Writable =>
  new Writable({
    write(chunk: Buffer, _encoding, done) {
      output.push(stream, chunk);
      done();
    },
  });

type Stream = NodeJS.ReadWriteStream & { destroy(): unknown };

const createGoneError = (reason: string, cause?: unknown): SandboxGoneError =>
  new SandboxGoneError(reason, { cause, details: { dependency: 'docker' } });

/** The command's exec and its output; undefined when the signal aborted before it began. */
async function begin(
  engine: Engine,
  container: Container,
  command: SandboxCommand,
  signal: AbortSignal,
): Promise<{ exec: Exec; stream: Stream } | undefined> {
  if (signal.aborted) return undefined;
  try {
    const blocks = command.maxFileBytes === undefined ? '' : String(Math.floor(command.maxFileBytes / BLOCK_BYTES));
    const script = wrapper(engine.hasNetwork ? AWAIT_FORWARDER : '');
    const argv = ['/bin/sh', '-c', script, 'sh', command.command, blocks, String(engine.processes ?? '')];
    const exec = await makeExec(engine, container, argv);
    if (signal.aborted || !engine.mayStart()) return undefined;
    const stream = await withinTime(exec.start({ hijack: true, stdin: false }));
    return { exec, stream };
  } catch (error) {
    const status = engineStatus(error);
    // 500: the container has ended since the exec was made.
    if (status === 404 || status === 409 || (status === 500 && !(await isRunning(container))))
      throw createGoneError('the container does not run', error);
    throw toEngineUnavailable(error);
  }
}

const isRunning = async (container: Container): Promise<boolean> =>
  (await unlessStatus(container.inspect(), [404]))?.State.Running === true;

/** Whether a command's process has started, now or earlier. */
async function hasStarted(exec: Exec): Promise<boolean> {
  const { Pid, ExitCode } = await exec.inspect();
  return Pid > 0 || ExitCode !== null;
}

/** The result of a command that was cancelled before it began. */
const notBegun = (): CommandResult => ({
  exitCode: KILLED,
  stdout: '',
  stderr: '',
  truncatedBytes: 0,
  endedBy: 'cancel',
  durationMs: 0,
});

/** Runs a command in a container to its end; see SandboxDriver.exec. */
export async function runInContainer(
  engine: Engine,
  container: Container,
  command: SandboxCommand,
  options: { signal: AbortSignal; ceilingBytes: number },
): Promise<CommandResult> {
  const startedMs = performance.now();
  let endedBy: EndedBy = 'exit';
  let ending: Promise<Killed> | undefined;
  const begun = await begin(engine, container, command, options.signal);
  if (begun === undefined) return notBegun();
  const { exec, stream } = begun;
  const over = finished(stream).catch(() => undefined);
  const end = (by: EndedBy): void => {
    if (ending !== undefined) return;
    endedBy = by;
    ending = killAll(engine, container, { hasBegun: () => hasStarted(exec), isOver: over });
    // The failure is reported below, after the end of the stream.
    ending.catch(() => stream.destroy());
  };
  const onCeiling = (): void => {
    stream.destroy();
    end('output');
  };
  const limits = { maxBytes: command.maxOutputBytes, ceilingBytes: options.ceilingBytes };
  const output = new CommandOutput(limits, onCeiling, command.onOutput);
  engine.docker.modem.demuxStream(stream, sink(output, 'out'), sink(output, 'err'));
  const watching = new AbortController();
  endEarly(end, { timeoutMs: command.timeoutMs, signal: options.signal, until: watching.signal });
  void endWithContainer(container, { stream, over, until: watching.signal });
  await over;
  watching.abort();
  const { exitCode, sandbox } =
    ending === undefined ? await afterExit(engine, container, exec) : { exitCode: KILLED, sandbox: await ending };
  const taken = output.take();
  const stderr = sandbox === 'replaced' ? taken.stderr + LOST : taken.stderr;
  return { exitCode, ...taken, stderr, endedBy, durationMs: performance.now() - startedMs };
}

/** Calls `end` at the time-out and when the signal aborts, unless it is over by then. */
function endEarly(
  end: (by: EndedBy) => void,
  { timeoutMs, signal, until }: { timeoutMs: number; signal: AbortSignal; until: AbortSignal },
): void {
  const timer = setTimeout(() => end('timeout'), timeoutMs);
  until.addEventListener('abort', () => clearTimeout(timer), { once: true });
  signal.addEventListener('abort', () => end('cancel'), { once: true, signal: until });
  if (signal.aborted) end('cancel');
}

/** Resolves once the sandbox does not run or does not exist; rejects when the engine fails. */
async function containerEnd(container: Container, until?: AbortSignal): Promise<void> {
  try {
    await container.wait({ condition: 'not-running', ...omitUndefined({ abortSignal: until }) });
  } catch (error) {
    if (engineStatus(error) !== 404) throw error;
  }
}

/** Ends the stream of a command once its sandbox is gone: the engine may never do it then. */
async function endWithContainer(
  container: Container,
  { stream, over, until }: { stream: Stream; over: Promise<unknown>; until: AbortSignal },
): Promise<void> {
  try {
    await containerEnd(container, until);
  } catch {
    return; // The command is over, or the engine is away, and the stream ends with it.
  }
  await withinTime(over, LAST_OUTPUT_MS).catch(() => stream.destroy());
}

/** What the engine knows about a container in which no command could be started. */
async function describeEnd(container: Container): Promise<string> {
  const found = await unlessStatus(container.inspect(), [404]);
  if (found === null) return 'the container does not exist';
  const { ExitCode, OOMKilled } = found.State;
  return `the container has ended with exit code ${ExitCode}${OOMKilled ? ', out of memory' : ''}`;
}

/**
 * The exit code of a command that ended by itself, and what became of its sandbox.
 *
 * @throws {SandboxGoneError} when the engine could not start it
 */
async function afterExit(
  engine: Engine,
  container: Container,
  exec: Exec,
): Promise<{ readonly exitCode: number; readonly sandbox: Killed }> {
  const exitCode = await exitCodeOf(exec, container);
  if (exitCode === undefined) {
    // The runtime knows the container's end before the engine, which would count it as ready until then.
    await withinTime(containerEnd(container), LOST_CONTAINER_MS).catch(() => engine.remove());
    throw createGoneError(await describeEnd(container));
  }
  if (exitCode < 128) return { exitCode, sandbox: 'killed' };
  // No exec is started while a sandbox dies: it could prevent the engine from seeing the end.
  if (exitCode === engine.lostExitCode)
    await withinTime(containerEnd(container), LOST_CONTAINER_MS).catch(() => undefined);
  // A shell that was killed could not sweep up behind its command, and a sandbox that was lost ends as if it were killed.
  const over = { hasBegun: () => Promise.resolve(true), isOver: Promise.resolve() };
  const sandbox = await killAll(engine, container, over);
  return { exitCode: sandbox === 'replaced' ? KILLED : exitCode, sandbox };
}

/**
 * Undefined for a command that the engine could not start: it has no process id. An engine that has seen the end of a
 * sandbox forgets the commands in it: they were killed.
 */
async function exitCodeOf(exec: Exec, container: Container): Promise<number | undefined> {
  try {
    const { ExitCode, Pid } = await withinTime(exec.inspect());
    if (Pid === 0 && ExitCode !== null && NOT_STARTED.includes(ExitCode)) return undefined;
    return ExitCode ?? KILLED;
  } catch (error) {
    if (engineStatus(error) === 404 && (await unlessStatus(container.inspect(), [404])) !== null) return KILLED;
    throw toEngineUnavailable(error);
  }
}
