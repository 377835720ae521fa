import { constants, type Dirent } from 'node:fs';
import { type FileHandle, open, opendir } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errnoOf } from '@caribou/core';
import { below } from '../descriptor-walk.js';
import { isIgnoredName } from './ignored-names.js';

/**
 * Entries below an open directory, each opened through the descriptor of its parent, links not followed. An entry that
 * disappears, or becomes something else, between being listed and being opened is skipped.
 */

export interface Entry {
  /** Names below the directory where the walk began. */
  readonly names: readonly string[];
  /** `other`: links, FIFOs, sockets, devices. */
  readonly kind: 'directory' | 'file' | 'other';
  /** The directory that holds it, open until the next entry is asked for. */
  readonly parent: FileHandle;
}

/** The budget of one walk; `exhausted` once the walk was stopped for it. */
export interface WalkBudget {
  entriesLeft: number;
  /** The end of the walk on the clock of `performance.now()`. */
  readonly endsAtMs: number;
  exhausted: boolean;
}

/** Deepest nesting that is walked: one descriptor is open for each level. */
const MAX_DEPTH = 32;
const ENTRIES_PER_TURN = 128;
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

export const walkBudget = (limits: { readonly maxEntries: number; readonly maxMs: number }): WalkBudget => ({
  entriesLeft: limits.maxEntries,
  endsAtMs: performance.now() + limits.maxMs,
  exhausted: false,
});

export interface WalkOptions {
  readonly budget: WalkBudget;
  /** 1 for the directory's own entries. */
  readonly depth?: number;
  /** Whether ignored names are listed as well. */
  readonly all?: boolean;
}

/** Entries below `directory`, parents before children, names in order; ignored names are left out
 * unless `all` is asked for. Does not close it. */
export async function* entriesBelow(
  directory: FileHandle,
  { budget, depth = MAX_DEPTH, all = false }: WalkOptions,
  above: readonly string[] = [],
): AsyncGenerator<Entry> {
  for (const entry of await namesIn(directory, { budget, all })) {
    const names = [...above, entry.name];
    yield { names, kind: kindOf(entry), parent: directory };
    if (!entry.isDirectory()) continue;
    if (names.length >= depth) {
      if (names.length >= MAX_DEPTH) budget.exhausted = true;
      continue;
    }
    const inner = await openIfStill(directory, entry.name);
    if (inner === undefined) continue;
    try {
      yield* entriesBelow(inner, { budget, depth, all }, names);
    } finally {
      await inner.close();
    }
  }
}

const kindOf = (entry: Dirent): Entry['kind'] =>
  entry.isDirectory() ? 'directory' : entry.isFile() ? 'file' : 'other';

/** The entries of one directory, as many as the budget has left. */
async function namesIn(
  directory: FileHandle,
  { budget, all }: { readonly budget: WalkBudget; readonly all: boolean },
): Promise<readonly Dirent[]> {
  const found: Dirent[] = [];
  const listing = await opendir(`/proc/self/fd/${directory.fd}`);
  try {
    for (let entry = await listing.read(); entry !== null; entry = await listing.read()) {
      budget.entriesLeft -= 1;
      if (budget.entriesLeft < 0 || performance.now() > budget.endsAtMs) {
        budget.exhausted = true;
        break;
      }
      // The walk shares its thread with all others: code that reads the entries yields in between.
      if (budget.entriesLeft % ENTRIES_PER_TURN === 0) await nextTurn();
      if (all || !isIgnoredName(entry.name)) found.push(entry);
    }
  } finally {
    await listing.close();
  }
  return found.sort((left, right) => (left.name < right.name ? -1 : 1));
}

const gone = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'ENXIO', 'ENODEV']);

async function openIfStill(parent: FileHandle, name: string): Promise<FileHandle | undefined> {
  return open(below(parent, name), DIRECTORY).catch(ignoreGone);
}

function ignoreGone(error: unknown): undefined {
  if (gone.has(errnoOf(error) ?? '')) return undefined;
  throw error;
}

/**
 * The content of a regular file, with a single name unless it may have several, at most `maxBytes` long and without a
 * NUL byte; undefined for anything else.
 */
export async function smallText(
  { parent, names }: Entry,
  { maxBytes, mayBeLinked }: { readonly maxBytes: number; readonly mayBeLinked: boolean },
): Promise<Buffer | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(below(parent, names.at(-1) ?? ''), flags).catch(ignoreGone);
  if (handle === undefined) return undefined;
  try {
    const stat = await handle.stat();
    if (!stat.isFile() || (stat.nlink !== 1 && !mayBeLinked) || stat.size > maxBytes) return undefined;
    const buffer = Buffer.alloc(stat.size);
    const { bytesRead } = await handle.read(buffer, 0, stat.size, 0);
    const content = buffer.subarray(0, bytesRead);
    return content.includes(0) ? undefined : content;
  } finally {
    await handle.close();
  }
}
