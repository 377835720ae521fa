import { finished } from 'node:stream/promises';
import type { Container, Exec } from 'dockerode';
import type { CommandIdentity } from '@caribou/core';
import { WORKING_DIRECTORY } from '../drivers/command-environment.js';
import { withinTime } from './docker-engine.js';
import type { EndingTimes } from './gvisor.js';

/**
 * Whether the shell's user has another process in the container, one that is dead and not yet reaped among them.
 * kill(-1) cannot answer that: it succeeds wherever any process is left, be it one that may not be signalled. Nor can
 * the owner of a process's directory: that is root where the process has made itself unreadable to others. One that is
 * gone when it is looked at counts: it may have left a child that the list does not have.
 */
const OTHERS = `caribou_uid() {
  while read -r key uid rest; do [ "$key" = Uid: ] && return 0; done <"$1/status"
  return 1
}
caribou_others() {
  caribou_uid "/proc/$$"
  own=$uid
  for p in /proc/[0-9]*; do
    [ "$p" = "/proc/$$" ] && continue
    caribou_uid "$p" || return 0
    [ "$uid" = "$own" ] && return 0
  done 2>/dev/null
  return 1
}`;

/**
 * Shell: kills every process of its user but itself, also those in other sessions, until none is left: what it has
 * killed takes a moment to be gone. Ends with 1 when it gives up.
 */
export const SWEEP = `${OTHERS}
kill -9 -1 2>/dev/null
n=0
while [ $n -lt 5000 ] && caribou_others; do kill -9 -1 2>/dev/null; n=$((n+1)); done
[ $n -lt 5000 ]`;

/**
 * The same for what an earlier command may have left, before another one begins: it kills once and waits. If it killed
 * again and again, it would kill every killer that comes to end this very command.
 */
export const SWEEP_ONCE = `${OTHERS}
kill -9 -1 2>/dev/null
n=0
while [ $n -lt 5000 ] && caribou_others; do n=$((n+1)); done`;

/** Exit code of a command that SIGKILL ended. */
export const KILLED = 137;

/** Exit code of a sweep that has given up; what it killed may still be about to end. */
const GAVE_UP = 1;

/** The parts that are needed to end the processes of a container. */
export interface KillEngine {
  readonly identity: CommandIdentity;
  readonly ending: EndingTimes;
  /** Exit code of a command whose container has died under it, where that differs from others. */
  readonly lostExitCode: number | undefined;
  /**
   * Removes the container by force and creates another one, unless it was removed meanwhile. @throws {UnavailableError}
   */
  readonly replace: () => Promise<void>;
}

/** The command that is to be ended. */
export interface Running {
  /** Whether its process has started; also true once it is over. */
  readonly hasBegun: () => Promise<boolean>;
  readonly isOver: Promise<unknown>;
}

/** How everything was ended: the processes in the container, or the container itself, in favour of another one. */
export type Killed = 'killed' | 'replaced';

/** An exec of the command user that has not begun. @throws the engine's refusal, or UnavailableError when it is away */
export const makeExec = (
  { identity }: Pick<KillEngine, 'identity'>,
  container: Container,
  argv: readonly string[],
): Promise<Exec> =>
  withinTime(
    container.exec({
      Cmd: [...argv],
      User: `${identity.uid}:${identity.gid}`,
      WorkingDir: WORKING_DIRECTORY,
      AttachStdout: true,
      AttachStderr: true,
      Tty: false,
    }),
  );

/**
 * Ends every process of the command user that has started by now. False when that takes longer, or the killer was
 * killed itself: a command sweeps too, before and after its own work.
 *
 * @throws Error when it could not do its work
 */
async function sweep(engine: KillEngine, container: Container, givenUp: AbortSignal): Promise<boolean> {
  const exec = await makeExec(engine, container, ['/bin/sh', '-c', SWEEP]);
  if (givenUp.aborted) return false;
  const stream = await exec.start({ hijack: true, stdin: false });
  stream.resume();
  // The engine may never end the stream of a container that is lost.
  await finished(stream, { signal: givenUp }).finally(() => stream.destroy());
  // The engine may still count a container as running whose kernel is gone; the exec alone shows it.
  const { ExitCode, Pid } = await exec.inspect();
  if (ExitCode === 0) return true;
  // Without a process id it was killed before its shell began. An exec in a dying container of gVisor delays its end.
  if (ExitCode === GAVE_UP || ExitCode === KILLED || (Pid === 0 && engine.lostExitCode === undefined)) return false;
  throw new Error(`the kill ended with ${ExitCode}`);
}

/** @throws Error unless every process of the command user is found ended */
async function killInside(
  engine: KillEngine,
  container: Container,
  { hasBegun, isOver, givenUp }: Running & { readonly givenUp: AbortSignal },
): Promise<void> {
  while (!givenUp.aborted) {
    // The engine may still be about to start the command: a sweep that came before it has ended nothing of it.
    const begun = await hasBegun();
    if (givenUp.aborted) return;
    if ((await sweep(engine, container, givenUp)) && begun) {
      await isOver;
      return;
    }
  }
}

/**
 * Ends every process of the command user: from inside by kill(-1), as PID 1 and its child belong to another user; when
 * that does not work in time, by replacing the container, which needs no free process. The result says which. Takes at
 * most `insideMs` and `outsideMs` of its EndingTimes.
 *
 * A container is never restarted: the engine removes it at its end, and both at once leave one that ends in a moment.
 *
 * @throws {UnavailableError} when the container could not be ended, or no other one be created
 */
export async function killAll(engine: KillEngine, container: Container, running: Running): Promise<Killed> {
  const givenUp = new AbortController();
  const { insideMs, outsideMs } = engine.ending;
  try {
    await withinTime(killInside(engine, container, { ...running, givenUp: givenUp.signal }), insideMs);
    return 'killed';
  } catch {
    // Replacing the container does not depend on the cause (a full process table, a paused container).
    givenUp.abort();
    await withinTime(engine.replace(), outsideMs);
    return 'replaced';
  }
}
