import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nameOf } from '../../launcher/processes/data-folder.mjs';
import { runCommand, tail } from '../../launcher/processes/run-command.mjs';
import { LauncherError } from '../../launcher/processes/terminal.mjs';
import { waitUntil } from '../../launcher/processes/wait-until.mjs';
import { inRepository } from '../../launcher/repository.mjs';

/**
 * A machine of the lab: namespaces of its own for processes, mounts, network, host name and IPC. When its process 1 ends, the kernel
 * ends every other process of it and removes its mounts, interfaces and packet filter rules, so nothing of it can stay behind.
 *
 * @typedef {import('../../launcher/processes/data-folder.mjs').ProcessName} ProcessName
 * @typedef {object} Machine
 * @property {string} name
 * @property {string} files its folder, which it sees under the same path
 * @property {ProcessName} outer the process that ends with the machine, in this machine's namespaces
 * @property {number} pid process 1 of the machine, as this machine numbers it
 */

const startTimeoutMs = 10_000;
const endTimeoutMs = 20_000;
const commandTimeoutMs = 60_000;

/** @param {string} name @param {string} files @returns {Promise<Machine>} */
export async function startMachine(name, files) {
  mkdirSync(files, { recursive: true });
  const log = openSync(join(files, 'machine.log'), 'w');
  const own = ['--net', '--pid', '--mount', '--uts', '--ipc', '--fork', '--kill-child=SIGKILL', '--mount-proc'];
  const child = spawn('unshare', [...own, inRepository('tools', 'kubernetes', 'lab', 'machine.sh'), name, files], {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: '/',
  });
  closeSync(log);
  child.unref();
  const { pid: outer } = child;
  if (outer === undefined) throw new LauncherError('unshare could not be started');
  const readyFile = join(files, 'machine.ready');
  try {
    await waitUntil(async () => {
      if (child.exitCode !== null) throw new LauncherError('it ended');
      return readFileSync(readyFile, 'utf8') !== '' && childOf(outer) !== undefined;
    }, AbortSignal.timeout(startTimeoutMs));
  } catch (cause) {
    child.kill('SIGKILL');
    throw new LauncherError(`${name} did not start: ${tail(readFileSync(join(files, 'machine.log'), 'utf8'), 5)}`, {
      cause,
    });
  }
  return { name, files, outer: nameOf(outer), pid: childOf(outer) ?? 0 };
}

/** @param {number} pid @returns {number | undefined} */
function childOf(pid) {
  const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  return first === undefined || first === '' ? undefined : Number(first);
}

/** @param {Machine} machine */
export const isUp = ({ outer }) => nameOf(outer.pid).pid !== 0 && nameOf(outer.pid).startedAt === outer.startedAt;

/** Ends a machine and waits until all of its processes have ended. @param {Machine} machine */
export async function endMachine(machine) {
  if (!isUp(machine)) return;
  process.kill(machine.pid, 'SIGKILL');
  try {
    await waitUntil(async () => !isUp(machine), AbortSignal.timeout(endTimeoutMs));
  } catch (cause) {
    throw new LauncherError(`${machine.name} did not end within ${endTimeoutMs / 1000} s`, { cause });
  }
}

/** The arguments by which nsenter runs something in a machine. @param {Machine} machine */
const into = ({ pid }) => ['--target', String(pid), '--net', '--pid', '--mount', '--uts', '--ipc', '--wd=/'];

/**
 * Runs a command in a machine.
 *
 * @param {Machine} machine
 * @param {string[]} command
 * @param {{ timeoutMs?: number, signal?: AbortSignal }} [options]
 * @returns {Promise<string>} its output
 * @throws {LauncherError} when it fails
 */
export async function runIn(machine, command, { timeoutMs = commandTimeoutMs, signal } = {}) {
  const limits = { timeoutMs, ...(signal === undefined ? {} : { signal }) };
  const { code, output } = await runCommand('nsenter', [...into(machine), '--', ...command], limits);
  if (code !== 0)
    throw new LauncherError(`${machine.name}: ${command.join(' ')} failed (exit ${code}):\n${tail(output)}`);
  return output;
}

const pidFile = (/** @type {Machine} */ { files }, /** @type {string} */ name) => join(files, `${name}.pid`);

/** The output of a program of a machine. @param {Machine} machine @param {string} name */
export const logOf = ({ files }, name) => join(files, `${name}.log`);

/**
 * Starts a program in a machine, which outlives this process. Its output goes to a file.
 *
 * @param {Machine} machine
 * @param {string} name
 * @param {string[]} command
 */
export function startIn(machine, name, command) {
  const log = openSync(logOf(machine, name), 'a');
  // The shell becomes the program, so that the file has the program's id as the machine numbers it.
  const script = 'echo $$ > "$0"; exec "$@"';
  const child = spawn('nsenter', [...into(machine), '--', 'sh', '-c', script, pidFile(machine, name), ...command], {
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  child.unref();
}

/**
 * Ends a program of a machine.
 *
 * @param {Machine} machine
 * @param {string} name
 * @param {'TERM' | 'KILL'} signal
 */
export async function stopIn(machine, name, signal) {
  const pid = readFileSync(pidFile(machine, name), 'utf8').trim();
  await runIn(machine, ['kill', `-${signal}`, pid]);
  try {
    await waitUntil(async () => !(await runsIn(machine, name)), AbortSignal.timeout(endTimeoutMs));
  } catch (cause) {
    throw new LauncherError(`${name} did not end within ${endTimeoutMs / 1000} s`, { cause });
  }
}

/** Whether a program of a machine runs. @param {Machine} machine @param {string} name @returns {Promise<boolean>} */
export async function runsIn(machine, name) {
  const script = 'pid=$(cat "$0") && [ -d /proc/$pid ] && ! grep -q "^State:.Z" /proc/$pid/status';
  const { code } = await runCommand('nsenter', [...into(machine), '--', 'sh', '-c', script, pidFile(machine, name)], {
    timeoutMs: commandTimeoutMs,
  });
  return code === 0;
}
