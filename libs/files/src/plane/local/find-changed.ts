import { divideTree, joined, type OpenDirectory, type StartingPoint } from './divide-tree.js';
import { FindShells } from './find-shells.js';
import type { LocalTree } from './local-tree.js';
import type { Stamp } from './stamps.js';

/**
 * Entries whose ctime is later than a time, found by GNU find: for 20,000 files a fifth of the time that this process would take,
 * and outside its event loop. Two processes share a large tree; shells start them. What they print may be out of date: the caller opens each path by descriptors.
 */

const TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 128 * 1024 * 1024;
/** Kind, inode, mode, size, mtime, ctime, path. */
const FORMAT = '%y %i %m %s %T@ %C@ %p\\0';
/** A device, and the last starting point, so every complete output ends with it: an output without it is incomplete. */
const END = '/dev/null';

const kinds: Readonly<Record<string, Stamp['kind']>> = { f: 'file', d: 'directory', l: 'link' };

export interface FindOptions {
  readonly sinceMs: number;
  /** Entries that each of two processes has at least. */
  readonly minShare: number;
  /** What starts the processes. */
  readonly shells?: Pick<FindShells, 'run'>;
}

const ownShells = new FindShells('find');

/**
 * The entries, and perhaps others; null when there is no such program on this machine, or it did not succeed.
 *
 * @param known paths that were there at the last scan
 */
export async function findChanged(
  local: LocalTree,
  known: ReadonlyMap<string, unknown>,
  { sinceMs, minShare, shells = ownShells }: FindOptions,
): Promise<Map<string, Stamp> | null> {
  const { shares, opened, close } = divideTree(local, known, minShare);
  try {
    // The directories are open until no process is left that looks for their descriptors.
    const lists = await Promise.all(shares.map((share) => findIn(share, sinceMs, shells)));
    const found = new Map(opened);
    for (const list of lists) {
      if (list === null) return null;
      for (const [path, stamp] of list) found.set(path, stamp);
    }
    return found;
  } finally {
    close();
  }
}

async function findIn(
  starts: readonly StartingPoint[],
  sinceMs: number,
  shells: Pick<FindShells, 'run'>,
): Promise<ReadonlyMap<string, Stamp> | null> {
  const directories = directoriesOf(starts);
  const since = `@${(Math.max(sinceMs, 0) / 1000).toFixed(6)}`;
  const paths = starts.map(({ directory, name }) => `${directories.get(directory)}/${name}`);
  const args = ['-P', ...paths, END, '(', '-type', 'c', '-o', '-newerct', since, ')', '-printf', FORMAT];
  const [current] = directories.keys();
  if (current === undefined) return new Map();
  const limits = { timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_OUTPUT_BYTES };
  const answer = await shells.run({ directory: openPath(current), args, ...limits });
  // 1: some entries could not be read, as a command removed them or closed them to this process.
  if (answer === null || (answer.code !== 0 && answer.code !== 1)) return null;
  const found = new Map<string, Stamp>();
  let isWhole = false;
  for (const line of answer.output.split('\0')) {
    const entry = entryOf(line);
    if (entry?.path === END) isWhole = true;
    else if (entry !== null) found.set(pathIn(directories, entry.path), entry.stamp);
  }
  return isWhole ? found : null;
}

/** A path by which other processes of this user get at an open directory of this process, whatever has its name by now. */
const openPath = ({ descriptor }: OpenDirectory): string => `/proc/${process.pid}/fd/${descriptor}`;

/**
 * What find is given, and prints, for each directory of the starting points. The first one has most of them and is the current directory of
 * the process, as paths below that are resolved faster.
 */
function directoriesOf(starts: readonly StartingPoint[]): ReadonlyMap<OpenDirectory, string> {
  const counts = new Map<OpenDirectory, number>();
  for (const { directory } of starts) counts.set(directory, (counts.get(directory) ?? 0) + 1);
  const sorted = [...counts.keys()].sort((left, right) => (counts.get(right) ?? 0) - (counts.get(left) ?? 0));
  return new Map(sorted.map((directory, at) => [directory, at === 0 ? '.' : openPath(directory)]));
}

/** The path of a tree for one that find has printed. */
function pathIn(directories: ReadonlyMap<OpenDirectory, string>, printed: string): string {
  for (const [{ path }, prefix] of directories) {
    if (printed.startsWith(`${prefix}/`)) return joined(path, printed.slice(prefix.length + 1));
  }
  throw new Error('find has printed a path below none of its starting points');
}

function entryOf(line: string): { readonly path: string; readonly stamp: Stamp } | null {
  const [kind = '', ino, mode = '', size, mtime, ctime, ...names] = line.split(' ');
  if (mtime === undefined || ctime === undefined) return null;
  const stamp: Stamp = {
    kind: kinds[kind] ?? 'special',
    ino: Number(ino),
    mode: Number.parseInt(mode, 8) & 0o777,
    size: Number(size),
    mtimeMs: millisecondsOf(mtime),
    ctimeMs: millisecondsOf(ctime),
  };
  return { path: names.join(' '), stamp };
}

/** Seconds with nine decimals or more, as milliseconds: computed as Node does, so that both give the same number. */
function millisecondsOf(seconds: string): number {
  const [whole = '0', fraction = '0'] = seconds.split('.');
  return Number(whole) * 1000 + Number(fraction.padEnd(9, '0').slice(0, 9)) / 1e6;
}
