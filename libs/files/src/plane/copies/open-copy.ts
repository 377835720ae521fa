import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandIdentity, DATA_DIRECTORIES, errnoOf, type ThreadKey, type TreeStore } from '@caribou/core';
import { newIndex } from '../local/copy-index.js';
import type { IndexFiles } from '../local/index-files.js';
import { LocalTree } from '../local/local-tree.js';
import type { ScanTarget } from '../local/scan.js';
import { threadNames } from '../../thread-path.js';
import type { BegunWrites } from './begun-writes.js';

/** What the work on local copies needs. */
export interface CopyParts {
  readonly homeDir: string;
  readonly owner: CommandIdentity;
  readonly store: TreeStore;
  readonly indexes: IndexFiles;
  readonly writes: BegunWrites;
  /** Copies with more entries are scanned by find. */
  readonly maxWalked: number;
  /** Two finds share a copy when each has at least so many entries. */
  readonly minShare: () => number;
  /** Larger files are skipped, in bytes. */
  readonly maxFileBytes: number;
}

export const userDataOf = (homeDir: string, thread: ThreadKey): string =>
  join(homeDir, ...threadNames(thread), 'user-data');

/** Whether the thread has all three data directories on this machine. */
export function hasData(homeDir: string, thread: ThreadKey): boolean {
  return DATA_DIRECTORIES.every((name) => {
    try {
      return lstatSync(join(userDataOf(homeDir, thread), name)).isDirectory();
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return false;
      throw error;
    }
  });
}

/** What is known of a copy: an index, one that is lost or damaged, or nothing, as the thread was never used here. */
export type CopyRecord = 'kept' | 'lost' | 'none';

/** Runs `work` on the opened copy of a thread, which is closed afterwards. The data directories exist. */
export async function withCopy<T>(
  { homeDir, indexes, maxWalked, minShare, maxFileBytes }: CopyParts,
  thread: ThreadKey,
  work: (target: ScanTarget, record: CopyRecord) => Promise<T>,
): Promise<T> {
  const wasUsed = indexes.usedMs(thread) !== undefined;
  if (!wasUsed) await indexes.prepare(thread);
  const index = indexes.load(thread);
  const clock = indexes.readClock(thread);
  const local = new LocalTree(userDataOf(homeDir, thread));
  try {
    const record = index === undefined ? (wasUsed ? 'lost' : 'none') : 'kept';
    return await work({ local, index: index ?? newIndex(), ...clock, maxWalked, minShare, maxFileBytes }, record);
  } finally {
    local.close();
  }
}
