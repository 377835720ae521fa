import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CommandIdentity, errnoOf } from '@caribou/core';
import type { RootEntry } from './bwrap-arguments.js';

/** Facts about the machine that the bwrap driver needs. */

const FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];

/** The absolute path of a program in the system's folders; PATH has no say. */
export const findProgram = (name: string): string | undefined =>
  FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path));

/** How /bin, /sbin and the library folders look on this machine. */
export function hostRootEntries(): RootEntry[] {
  return ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
    .filter((path) => existsSync(path))
    .map((path) =>
      lstatSync(path).isSymbolicLink()
        ? { kind: 'link', target: readlinkSync(path), path }
        : { kind: 'directory', path },
    );
}

/** Whether a user without privileges can reach a directory from the root, by mode bits alone. */
export function isReachableBy({ uid, gid }: CommandIdentity, directory: string): boolean {
  for (let path = directory; ; path = dirname(path)) {
    const stat = statSync(path);
    const search = stat.uid === uid ? 0o100 : stat.gid === gid ? 0o010 : 0o001;
    if ((stat.mode & search) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

const CLOSE_ON_EXEC = 0o2000000;
const MAX_DESCRIPTOR = 1023;

/**
 * Descriptors from 3 on that a child would inherit: the parent of this process left them open (Node's own close
 * on exec), and a command must not get them.
 */
export function inheritableDescriptors(): number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => fd > 2 && fd <= MAX_DESCRIPTOR && isInheritable(fd));
}

function isInheritable(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch (error) {
    // The descriptor that listed the directory is gone by now.
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}

export interface ProcessIdentity {
  readonly pid: number;
  /** Start time in clock ticks since boot: distinguishes the process from a later one with the same pid. */
  readonly startTicks: string;
}

interface ProcessStat {
  /** Name of the program, cut to 15 bytes. */
  readonly program: string;
  /** One letter; Z and X have ended. */
  readonly state: string;
  /** Number of its process group. */
  readonly group: number;
  readonly startTicks: string;
}

/** Reads the kernel's record of a process (proc(5), fields 2, 3, 5 and 22 of stat); null when it does not exist. */
export function processStat(pid: number): ProcessStat | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const end = stat.lastIndexOf(')');
    const fields = stat.slice(end + 2).split(' ');
    const program = stat.slice(stat.indexOf('(') + 1, end);
    return { program, state: fields[0] ?? '', group: Number(fields[2]), startTicks: fields[19] ?? '' };
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ENOENT' || errno === 'ESRCH') return null;
    throw error;
  }
}

/** A mark of a running process, or null when it is over. */
export function identifyProcess(pid: number): ProcessIdentity | null {
  const stat = processStat(pid);
  return stat === null ? null : { pid, startTicks: stat.startTicks };
}

/** Whether the marked process still runs; a zombie does not, even where PID 1 reaps late. */
export function isRunning({ pid, startTicks }: ProcessIdentity): boolean {
  const stat = processStat(pid);
  return stat !== null && stat.startTicks === startTicks && stat.state !== 'Z' && stat.state !== 'X';
}
