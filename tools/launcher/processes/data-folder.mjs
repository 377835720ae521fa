import { chmodSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LauncherError, warn } from './terminal.mjs';

/**
 * One launcher per data folder: a second nats-server on the same store would open it without an error and corrupt it.
 * A process is identified by its pid and its start time, so that a reused pid is never mistaken for it.
 *
 * @typedef {{ pid: number, startedAt: string }} ProcessName
 * @typedef {ProcessName & { name: string }} Child
 */

/**
 * Claims the folder for this process, and ends what a killed launcher left running in it.
 *
 * @param {string} folder
 * @returns {Promise<{ record: (children: Child[]) => void, release: () => void }>} record: stores the list of running children
 * @throws {LauncherError} when another launcher holds the folder
 */
export async function claimDataFolder(folder) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  const lock = join(folder, 'launcher.lock');
  const pids = join(folder, 'pids.json');
  takeLock(lock, folder);
  await endLeftovers(pids);
  return {
    record: (children) => writeFileSync(pids, `${JSON.stringify(children)}\n`, { mode: 0o600 }),
    release: () => {
      rmSync(pids, { force: true });
      rmSync(lock, { force: true });
    },
  };
}

/** @param {string} lock @param {string} folder */
function takeLock(lock, folder) {
  const mine = `${lock}.${process.pid}`;
  writeFileSync(mine, JSON.stringify(nameOf(process.pid)), { mode: 0o600 });
  try {
    if (tryLink(mine, lock)) return;
    const text = readText(lock);
    const holder = parse(text, /** @type {ProcessName} */ ({ pid: 0, startedAt: '' }));
    if (isRunning(holder)) {
      throw new LauncherError(
        `Caribou is running already on ${dirname(folder)} (process ${holder.pid}). Set CARIBOU_HOME and PORT for a second one.`,
      );
    }
    // Two launchers may find the same stale lock: one that moved another lock away puts it back.
    const moved = `${mine}.stale`;
    renameSync(lock, moved);
    if (readText(moved) !== text) tryLink(moved, lock);
    rmSync(moved, { force: true });
    if (!tryLink(mine, lock)) throw new LauncherError(`Another launcher has just taken ${folder}.`);
  } finally {
    rmSync(mine, { force: true });
  }
}

/** @param {string} from @param {string} to */
function tryLink(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** @param {string} pids */
async function endLeftovers(pids) {
  const left = parse(readText(pids), /** @type {Child[]} */ ([])).filter(isRunning);
  for (const child of left) {
    warn(`ending ${child.name} (process ${child.pid}), left by an earlier start`);
    signal(child.pid, 'SIGTERM');
  }
  for (let waited = 0; waited < 5000 && left.some(isRunning); waited += 100) await delay(100);
  for (const child of left.filter(isRunning)) signal(child.pid, 'SIGKILL');
  rmSync(pids, { force: true });
}

/** @param {number} pid @param {NodeJS.Signals} name */
function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** @param {ProcessName} wanted */
function isRunning(wanted) {
  if (wanted.pid === 0) return false;
  const found = nameOf(wanted.pid);
  return found.pid !== 0 && found.startedAt === wanted.startedAt;
}

/**
 * The name of a running process; pid 0 for a missing process or a zombie. Without /proc the start time is empty.
 *
 * @param {number} pid
 * @returns {ProcessName}
 */
export function nameOf(pid) {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat !== '') {
    // The program's name is in parentheses and may contain any character; the fields follow the last one. proc(5).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? { pid: 0, startedAt: '' } : { pid, startedAt: fields[19] ?? '' };
  }
  if (process.platform === 'linux') return { pid: 0, startedAt: '' };
  try {
    process.kill(pid, 0);
    return { pid, startedAt: '' };
  } catch {
    return { pid: 0, startedAt: '' };
  }
}

/** The file's text; empty for a missing file. @param {string} path */
function readText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return '';
    throw error;
  }
}

/**
 * A file that a crash cut short counts as absent.
 *
 * @template T
 * @param {string} text
 * @param {T} fallback
 * @returns {T}
 */
function parse(text, fallback) {
  try {
    /** @type {T} */
    const value = text === '' ? fallback : JSON.parse(text);
    return value;
  } catch {
    return fallback;
  }
}
