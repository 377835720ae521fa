import { spawn } from 'node:child_process';
import { divideTree, joined, type OpenDirectory, type StartingPoint } from './divide-tree.js';
import { descriptorPath, type LocalTree } from './local-tree.js';
import type { Stamp } from './stamps.js';

/**
 * Entries whose ctime is later than a time, found by GNU find: for 20,000 files a fifth of the time that this process would take,
 * and outside its event loop. Two processes share a large tree. What they print may be out of date: the caller opens each path by descriptors.
 */

const TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 128 * 1024 * 1024;
/** Kind, inode, mode, size, mtime, ctime, path. */
const FORMAT = '%y %i %m %s %T@ %C@ %p\\0';
/** A device, and the last starting point, so every complete output ends with it: an output without it is incomplete. */
const END = '/dev/null';
/** The number that the first directory of a process has there; the others follow. */
const FIRST_DESCRIPTOR = 3;

const kinds: Readonly<Record<string, Stamp['kind']>> = { f: 'file', d: 'directory', l: 'link' };

export interface FindOptions {
  readonly sinceMs: number;
  /** Entries that each of two processes has at least. */
  readonly minShare: number;
}

/**
 * The entries, and perhaps others; null when there is no such program on this machine, or it did not succeed.
 *
 * @param known paths that were there at the last scan
 */
export async function findChanged(
  local: LocalTree,
  known: ReadonlyMap<string, unknown>,
  { sinceMs, minShare }: FindOptions,
): Promise<Map<string, Stamp> | null> {
  const { shares, opened, close } = divideTree(local, known, minShare);
  let lists: readonly Promise<ReadonlyMap<string, Stamp> | null>[];
  try {
    // A process has changed its directory, and has its descriptors, when the call that starts it returns.
    lists = shares.map((share) => findIn(share, sinceMs));
  } finally {
    close();
  }
  const found = new Map(opened);
  for (const list of await Promise.all(lists)) {
    if (list === null) return null;
    for (const [path, stamp] of list) found.set(path, stamp);
  }
  return found;
}

async function findIn(starts: readonly StartingPoint[], sinceMs: number): Promise<ReadonlyMap<string, Stamp> | null> {
  const directories = directoriesOf(starts);
  const since = `@${(Math.max(sinceMs, 0) / 1000).toFixed(6)}`;
  const paths = starts.map(({ directory, name }) => `${prefixOf(directories.indexOf(directory))}/${name}`);
  const args = ['-P', ...paths, END, '(', '-type', 'c', '-o', '-newerct', since, ')', '-printf', FORMAT];
  const output = await outputOf(directories, args);
  if (output === null) return null;
  const found = new Map<string, Stamp>();
  let isWhole = false;
  for (const line of output.split('\0')) {
    const entry = entryOf(line);
    if (entry?.path === END) isWhole = true;
    else if (entry !== null) found.set(pathIn(directories, entry.path), entry.stamp);
  }
  return isWhole ? found : null;
}

/** The directories of the starting points, first the one that has most of them, which is the current directory of the process. */
function directoriesOf(starts: readonly StartingPoint[]): readonly OpenDirectory[] {
  const counts = new Map<OpenDirectory, number>();
  for (const { directory } of starts) counts.set(directory, (counts.get(directory) ?? 0) + 1);
  return [...counts].sort(([, left], [, right]) => right - left).map(([directory]) => directory);
}

/** Paths below the current directory are resolved faster. */
const prefixOf = (index: number): string => (index === 0 ? '.' : descriptorPath(FIRST_DESCRIPTOR + index));

/** The path of a tree for one that find has printed. */
function pathIn(directories: readonly OpenDirectory[], printed: string): string {
  for (const [index, { path }] of directories.entries()) {
    const prefix = `${prefixOf(index)}/`;
    if (printed.startsWith(prefix)) return joined(path, printed.slice(prefix.length));
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

/** Standard output, each byte a character; null when the program cannot be run, is too slow or prints too much. */
function outputOf(directories: readonly OpenDirectory[], args: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn('find', args, {
      cwd: descriptorPath(FIRST_DESCRIPTOR),
      // It complains of each entry that is gone or closed to this process.
      stdio: ['ignore', 'pipe', 'ignore', ...directories.map(({ descriptor }) => descriptor)],
      timeout: TIMEOUT_MS,
    });
    const chunks: Buffer[] = [];
    let length = 0;
    let failed = false;
    child.stdout?.on('data', (chunk: Buffer) => {
      length += chunk.byteLength;
      if (length > MAX_OUTPUT_BYTES) {
        failed = true;
        child.kill('SIGKILL');
      } else chunks.push(chunk);
    });
    child.on('error', () => resolve(null));
    // 1: some entries could not be read, as a command removed them or closed them to this process.
    child.on('close', (code) =>
      resolve(failed || (code !== 0 && code !== 1) ? null : Buffer.concat(chunks).toString('latin1')),
    );
  });
}
