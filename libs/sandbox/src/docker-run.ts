import { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type Docker from 'dockerode';
import type { Container, Exec } from 'dockerode';
import { WORKING_DIRECTORY } from './command-environment.js';
import { engineAway, engineStatus, unlessStatus, withinTime } from './docker-engine.js';
import { type BoxCommand, BoxGoneError, type BoxResult, type EndedBy } from './driver.js';
import type { EndingTimes } from './gvisor.js';
import type { CommandIdentity } from './identity.js';
import { CommandOutput } from './output-window.js';
import { AWAIT_FORWARDER } from './sandbox-network.js';

/** What a command has written arrives within this time after the end of its box. */
const LAST_OUTPUT_MS = 2000;
/** The engine sees the end of a box that a command has taken with it within this time. */
const LOST_BOX_MS = 5000;

/**
 * Ends every process of this user but the shell that says it, also those in other sessions: kill(-1) is repeated until
 * it finds nobody, as what it has ended takes a moment to be gone.
 */
const SWEEP = 'n=0; while [ $n -lt 5000 ] && kill -9 -1 2>/dev/null; do n=$((n+1)); done';

/**
 * Runs the command ($1) under the best shell there is, with files of at most $2 blocks and at most $3 processes where
 * these are given, and ends whatever it started, before and after; `first` is done before it begins. Some shells call
 * the limit of processes -u, others -p.
 */
const wrapper = (first: string): string => `${SWEEP}
${first}
[ -z "$2" ] || ulimit -f "$2"
[ -z "$3" ] || ulimit -u "$3" 2>/dev/null || ulimit -p "$3"
if [ -x /bin/bash ]; then /bin/bash -c "$1"; else /bin/sh -c "$1"; fi
code=$?
${SWEEP}
exit $code`;

/** POSIX: the unit of a shell's `ulimit -f`. */
const BLOCK_BYTES = 512;

interface Engine {
  readonly docker: Docker;
  readonly identity: CommandIdentity;
  /** Whether boxes have an exit; a command begins when it is open. */
  readonly hasNetwork: boolean;
  /** How many processes a command may have, where its shell has to see to it. */
  readonly processes: number | undefined;
  readonly ending: EndingTimes;
  /** What a command ends with when its box is lost, where that can be told from others. */
  readonly lostExitCode: number | undefined;
  /** Does for a box that was started again what was done when it was made. @throws {UnavailableError} */
  readonly onRestarted: (container: Container) => Promise<void>;
}

const startExec = (engine: Engine, container: Container, words: readonly string[]): Promise<Exec> =>
  withinTime(
    container.exec({
      Cmd: [...words],
      User: `${engine.identity.uid}:${engine.identity.gid}`,
      WorkingDir: WORKING_DIRECTORY,
      AttachStdout: true,
      AttachStderr: true,
      Tty: false,
    }),
  );

/** How everything in a box was ended: the processes in it, or the box, which has begun anew since. */
type Killed = 'killed' | 'restarted';

const LOST = '\n[the sandbox was started anew: what was in /tmp is gone]\n';

/** @throws Error unless every process of the command user is found ended */
async function killInside(
  engine: Engine,
  container: Container,
  { isOver, givenUp }: { readonly isOver: Promise<unknown>; readonly givenUp: AbortSignal },
): Promise<void> {
  const exec = await startExec(engine, container, ['/bin/sh', '-c', SWEEP]);
  if (givenUp.aborted) return;
  const stream = await exec.start({ hijack: true, stdin: false });
  stream.resume();
  // The engine may never end the stream of a box that is lost.
  await finished(stream, { signal: givenUp }).finally(() => stream.destroy());
  // The engine may still count a box as running whose kernel is gone; the exec alone tells.
  const { ExitCode } = await exec.inspect();
  if (ExitCode !== 0) throw new Error(`the kill ended with ${ExitCode}`);
  await isOver;
}

/**
 * Ends every process of the command user: from inside by kill(-1), as PID 1 and its keeper belong to another user; when
 * `isOver` does not come true in time, by restarting the container, which needs no free process. Tells by which.
 */
export async function killAll(engine: Engine, container: Container, isOver: Promise<unknown>): Promise<Killed> {
  const givenUp = new AbortController();
  const { insideMs, stopSeconds, outsideMs } = engine.ending;
  try {
    await withinTime(killInside(engine, container, { isOver, givenUp: givenUp.signal }), insideMs);
    return 'killed';
  } catch {
    // Whatever kept the inside from working (a full process table, a paused box), the outside does not depend on it.
    givenUp.abort();
    // 404 and 409: it has ended by itself, and the engine has removed it or does so.
    const restarted = container.restart({ t: stopSeconds }).then(() => true);
    if ((await unlessStatus(restarted, [404, 409], outsideMs)) !== null) await engine.onRestarted(container);
    return 'restarted';
  }
}

const sink = (output: CommandOutput, stream: 'out' | 'err'): Writable =>
  new Writable({
    write(chunk: Buffer, _encoding, done) {
      output.push(stream, chunk);
      done();
    },
  });

type Stream = NodeJS.ReadWriteStream & { destroy(): unknown };

async function begin(
  engine: Engine,
  container: Container,
  command: BoxCommand,
): Promise<{ exec: Exec; stream: Stream }> {
  try {
    const blocks = command.maxFileBytes === undefined ? '' : String(Math.floor(command.maxFileBytes / BLOCK_BYTES));
    const script = wrapper(engine.hasNetwork ? AWAIT_FORWARDER : '');
    const words = ['/bin/sh', '-c', script, 'sh', command.command, blocks, String(engine.processes ?? '')];
    const exec = await startExec(engine, container, words);
    const stream = await withinTime(exec.start({ hijack: true, stdin: false }));
    return { exec, stream };
  } catch (error) {
    const status = engineStatus(error);
    if (status === 404 || status === 409)
      throw new BoxGoneError('the container is not there', { cause: error, details: { dependency: 'docker' } });
    throw engineAway(error);
  }
}

/** Runs a command in a container to its end; see SandboxDriver.exec. */
export async function runInContainer(
  engine: Engine,
  container: Container,
  command: BoxCommand,
  options: { signal: AbortSignal; ceilingBytes: number },
): Promise<BoxResult> {
  const startedMs = performance.now();
  let endedBy: EndedBy = 'exit';
  let ending: Promise<Killed> | undefined;
  const { exec, stream } = await begin(engine, container, command);
  const over = finished(stream).catch(() => undefined);
  const end = (by: EndedBy): void => {
    if (ending !== undefined) return;
    endedBy = by;
    ending = killAll(engine, container, over);
    // The failure is told below, after the end of the stream.
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
  void endWithBox(container, { stream, over, until: watching.signal });
  await over;
  watching.abort();
  const { exitCode, box } =
    ending === undefined ? await afterExit(engine, container, exec) : { exitCode: 137, box: await ending };
  const taken = output.take();
  const stderr = box === 'restarted' ? taken.stderr + LOST : taken.stderr;
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

/** Comes true once the box does not run, or is not there; fails when the engine does. */
async function boxEnd(container: Container, until?: AbortSignal): Promise<void> {
  try {
    await container.wait({ condition: 'not-running', ...(until === undefined ? {} : { abortSignal: until }) });
  } catch (error) {
    if (engineStatus(error) !== 404) throw error;
  }
}

/** Ends the stream of a command once its box is gone: the engine may never do it then. */
async function endWithBox(
  container: Container,
  { stream, over, until }: { stream: Stream; over: Promise<unknown>; until: AbortSignal },
): Promise<void> {
  try {
    await boxEnd(container, until);
  } catch {
    return; // The command is over, or the engine is away, and the stream ends with it.
  }
  await withinTime(over, LAST_OUTPUT_MS).catch(() => stream.destroy());
}

/** The exit code of a command that ended by itself, and what became of its box. */
async function afterExit(
  engine: Engine,
  container: Container,
  exec: Exec,
): Promise<{ readonly exitCode: number; readonly box: Killed }> {
  const exitCode = await exitCodeOf(exec, container);
  if (exitCode < 128) return { exitCode, box: 'killed' };
  // While a box dies the engine is best left alone: what is begun in it then may keep the engine from seeing its end.
  if (exitCode === engine.lostExitCode) await withinTime(boxEnd(container), LOST_BOX_MS).catch(() => undefined);
  // A shell that was killed could not sweep up behind its command, and a box that was lost ends as if it were killed.
  const box = await killAll(engine, container, Promise.resolve());
  return { exitCode: box === 'restarted' ? 137 : exitCode, box };
}

/** An engine that has seen the end of a box forgets the commands in it: they were killed. */
async function exitCodeOf(exec: Exec, container: Container): Promise<number> {
  try {
    const { ExitCode } = await withinTime(exec.inspect());
    return ExitCode ?? 137;
  } catch (error) {
    if (engineStatus(error) === 404 && (await unlessStatus(container.inspect(), [404])) !== null) return 137;
    throw engineAway(error);
  }
}
