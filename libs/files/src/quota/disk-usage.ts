import { closeSync, constants, type Dir, lstatSync, opendirSync, openSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DATA_DIRECTORIES, type DiskUsage, errnoOf, type ThreadKey } from '@caribou/core';
import { FileRefusedError } from '../file-refused.js';
import type { ThreadFiles } from '../thread-files.js';

/** The deepest nesting that is measured: each level has two open descriptors. */
export const MAX_MEASURED_DEPTH = 64;
/** POSIX: the unit of st_blocks. */
const BLOCK_BYTES = 512;
const ENTRIES_PER_TURN = 128;
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Errors of an entry that a running command changed after it was listed. */
const gone = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'ESTALE']);

class Tally {
  bytes = 0;
  files = 0;
  tooDeep = false;

  constructor(readonly maxFiles: number) {}

  get isFull(): boolean {
    return this.files >= this.maxFiles;
  }

  /** A file with several names counts once over all of them. */
  add(path: string): void {
    const stat = unlessGone(() => lstatSync(path));
    if (stat === undefined) return;
    this.files += 1;
    this.bytes += (stat.blocks * BLOCK_BYTES) / (stat.isDirectory() ? 1 : Math.max(stat.nlink, 1));
  }
}

function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (gone.has(errnoOf(error) ?? '')) return undefined;
    throw error;
  }
}

/** Calls of the system without waiting cost a tenth of those with, so a small directory is measured in a moment. */
async function addBelow(directory: number, tally: Tally, depth: number): Promise<void> {
  const listing: Dir | undefined = unlessGone(() => opendirSync(`/proc/self/fd/${directory}`, { bufferSize: 64 }));
  if (listing === undefined) return;
  try {
    for (let entry = listing.readSync(); entry !== null && !tally.isFull; entry = listing.readSync()) {
      const path = `/proc/self/fd/${directory}/${entry.name}`;
      tally.add(path);
      if (tally.files % ENTRIES_PER_TURN === 0) await nextTurn();
      if (!entry.isDirectory()) continue;
      if (depth === MAX_MEASURED_DEPTH) tally.tooDeep = true;
      else await addDirectory(path, tally, depth + 1);
    }
  } finally {
    listing.closeSync();
  }
}

async function addDirectory(path: string, tally: Tally, depth: number): Promise<void> {
  const inner = unlessGone(() => openSync(path, DIRECTORY));
  if (inner === undefined) return;
  try {
    await addBelow(inner, tally, depth);
  } finally {
    closeSync(inner);
  }
}

/** Measures the three directories of a thread, at most `maxFiles` entries of them; nothing for a thread without. */
export async function measureUsage(files: ThreadFiles, thread: ThreadKey, maxFiles: number): Promise<DiskUsage> {
  const tally = new Tally(maxFiles);
  let freeBytes = Number.POSITIVE_INFINITY;
  for (const directory of DATA_DIRECTORIES) {
    try {
      const opened = await files.openDataDirectory(thread, directory);
      try {
        freeBytes = freeBytesAt(opened.fd);
        await addBelow(opened.fd, tally, 1);
      } finally {
        await opened.close();
      }
    } catch (error) {
      if (!(error instanceof FileRefusedError) || error.reason !== 'not_found') throw error;
    }
  }
  return usageOf(tally, freeBytes);
}

/** The same for the data directories in one directory, as a sandbox has them; those that are missing have nothing. */
export async function measureDataDirectories(userData: string, maxFiles: number): Promise<DiskUsage> {
  const tally = new Tally(maxFiles);
  const top = openSync(userData, DIRECTORY);
  try {
    for (const directory of DATA_DIRECTORIES) await addDirectory(join(`/proc/self/fd/${top}`, directory), tally, 1);
    return usageOf(tally, freeBytesAt(top));
  } finally {
    closeSync(top);
  }
}

function freeBytesAt(descriptor: number): number {
  const { bavail, bsize } = statfsSync(`/proc/self/fd/${descriptor}`);
  return bavail * bsize;
}

const usageOf = ({ bytes, files, tooDeep, isFull }: Tally, freeBytes: number): DiskUsage => ({
  bytes: Math.ceil(bytes),
  files,
  tooDeep,
  isFull,
  freeBytes,
});
