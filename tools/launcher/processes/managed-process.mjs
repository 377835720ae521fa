import { spawn } from 'node:child_process';
import { linePrinter } from './child-output.mjs';
import { nameOf } from './data-folder.mjs';
import { LauncherError, warn } from './terminal.mjs';

const keptLines = 30;
const shortestPauseMs = 500;
const longestPauseMs = 30_000;
const steadyMs = 60_000;

/**
 * One process that the launcher restarts when it ends. States: starting → ready → (crashed → pause → starting …) → stopped.
 *   M1  A process that ends before it was ever ready fails the start: a restart would not help.
 *   M2  Later, it is started again after a pause that doubles from 0.5 s to 30 s; a minute of quiet resets the pause.
 *   M3  stop() is final: SIGTERM, then SIGKILL to the whole process group at the deadline.
 *   M4  The child has a process group of its own, so Ctrl-C reaches the launcher alone, which stops all in order;
 *       and it dies with the launcher where the system supports that (setpriv --pdeathsig).
 *
 * @typedef {object} ProcessPlan
 * @property {string} name
 * @property {string} file
 * @property {string[]} args
 * @property {NodeJS.ProcessEnv} env
 * @property {string} cwd
 * @property {string | undefined} setpriv path of setpriv, if there is one
 * @property {boolean} quiet prints nothing but the last lines before a crash
 * @property {boolean} ipc the child sends a message when it is ready
 * @property {(child: import('node:child_process').ChildProcess, signal: AbortSignal) => Promise<void>} untilReady
 * @property {number} readyTimeoutMs
 * @property {() => void} onChange called when a process has started or ended */
export class ManagedProcess {
  #plan;
  #stopped = new AbortController();
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  /** @type {Promise<void>} */
  #ended = Promise.resolve();
  /** @type {string[]} */
  #lastLines = [];

  /** @param {ProcessPlan} plan */
  constructor(plan) {
    this.#plan = plan;
  }

  /** Resolves when the process is ready for the first time (M1). @param {AbortSignal} signal cancels the start */
  async start(signal) {
    await this.#launch(signal);
    void this.#keepAlive();
  }

  /** Ends it for good (M3). @param {number} timeoutMs from SIGTERM to SIGKILL */
  async stop(timeoutMs) {
    this.#stopped.abort(new LauncherError(`${this.#plan.name} was stopped.`));
    const child = this.#child;
    if (child === undefined || !isAlive(child)) return;
    child.kill('SIGTERM');
    const deadline = setTimeout(() => {
      warn(`${this.#plan.name} did not stop within ${timeoutMs / 1000} s and is killed`);
      killGroup(child, 'SIGKILL');
    }, timeoutMs);
    await this.#ended;
    clearTimeout(deadline);
    this.#plan.onChange();
  }

  /** Its entry in the record of running processes; undefined while it does not run. */
  running() {
    const child = this.#child;
    if (child?.pid === undefined || !isAlive(child)) return undefined;
    const found = nameOf(child.pid);
    return found.pid === 0 ? undefined : { name: this.#plan.name, ...found };
  }

  /** Starts the process once; resolves when it is ready, rejects when it ends before or is late. @param {AbortSignal} [given] */
  async #launch(given) {
    const { name, readyTimeoutMs, untilReady, onChange } = this.#plan;
    this.#lastLines = [];
    const child = spawnPlan(this.#plan, (line) => (this.#lastLines = [...this.#lastLines, line].slice(-keptLines)));
    this.#child = child;
    const over = new AbortController();
    this.#ended = new Promise((resolve) => {
      const end = () => {
        over.abort(new LauncherError(`${name} ended${how(child)} before it was ready.`));
        resolve();
      };
      child.once('exit', end);
      child.once('error', end);
    });
    onChange();
    const late = AbortSignal.timeout(readyTimeoutMs);
    const signals = [over.signal, late, this.#stopped.signal, ...(given === undefined ? [] : [given])];
    const signal = AbortSignal.any(signals);
    try {
      await Promise.race([untilReady(child, signal), rejectOn(signal)]);
    } catch (error) {
      killGroup(child, 'SIGKILL');
      const reason = late.aborted ? `${name} was not ready after ${readyTimeoutMs} ms.` : messageOf(error);
      const lines = this.#plan.quiet ? this.#lastLines.map((line) => `    ${line}`) : [];
      throw new LauncherError([reason, ...lines].join('\n'), { cause: error });
    }
  }

  /** Waits for the end of the ready process and starts it again, until it is stopped (M2). */
  async #keepAlive() {
    const { name, quiet, onChange } = this.#plan;
    let pauseMs = shortestPauseMs;
    for (;;) {
      const readyAt = Date.now();
      await this.#ended;
      onChange();
      if (this.#stopped.signal.aborted) return;
      if (Date.now() - readyAt > steadyMs) pauseMs = shortestPauseMs;
      if (quiet) for (const line of this.#lastLines) warn(`    ${line}`);
      const end = this.#child === undefined ? '' : how(this.#child);
      warn(`${name} ended${end}; starting it again in ${pauseMs / 1000} s`);
      if (!(await pause(pauseMs, this.#stopped.signal))) return;
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      await this.#launch().then(
        () => warn(`${name} is back`),
        (/** @type {unknown} */ error) => warn(messageOf(error)),
      );
    }
  }
}

/** @param {ProcessPlan} plan @param {(line: string) => void} onLine */
function spawnPlan(plan, onLine) {
  const [file, lead] =
    plan.setpriv === undefined ? [plan.file, []] : [plan.setpriv, ['--pdeathsig', 'KILL', '--', plan.file]];
  const child = spawn(file, [...lead, ...plan.args], {
    cwd: plan.cwd,
    env: plan.env,
    detached: true,
    stdio: plan.ipc ? ['ignore', 'pipe', 'pipe', 'ipc'] : ['ignore', 'pipe', 'pipe'],
  });
  const print = linePrinter(plan.name, onLine);
  /** @param {Buffer} data */
  const collectLines = (data) => data.toString('utf8').split('\n').forEach(onLine);
  child.stdout?.on('data', plan.quiet ? collectLines : print);
  child.stderr?.on('data', plan.quiet ? collectLines : print);
  return child;
}

/** @param {import('node:child_process').ChildProcess} child */
const isAlive = (child) => child.exitCode === null && child.signalCode === null && child.pid !== undefined;

/** @param {import('node:child_process').ChildProcess} child */
function how(child) {
  if (child.signalCode !== null) return ` by ${child.signalCode}`;
  return child.exitCode === null ? '' : ` with exit code ${child.exitCode}`;
}

/** @param {import('node:child_process').ChildProcess} child @param {NodeJS.Signals} signal */
function killGroup(child, signal) {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** @param {AbortSignal} signal @returns {Promise<never>} */
function rejectOn(signal) {
  return new Promise((_resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

/** True after the pause, false when it was cut short. @param {number} ms @param {AbortSignal} signal @returns {Promise<boolean>} */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve(false)), { once: true });
  });
}

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));
