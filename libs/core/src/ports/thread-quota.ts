import type { ThreadKey } from '../util/thread-key.js';

/** What the files of a thread take. */
export interface DiskUsage {
  /** Allocated, so holes of sparse files do not count. */
  readonly bytes: number;
  /** Entries of every kind, directories included. */
  readonly files: number;
  /** Whether directories are nested deeper than the measurement reaches. */
  readonly tooDeep: boolean;
  /** Whether there are more files than were counted. */
  readonly isFull: boolean;
  /** Free space on the disk; also shows files that were removed while a process writes to them. */
  readonly freeBytes: number;
}

/** How much the files of a thread may take. */
export interface ThreadQuota {
  /** Why a thread with these files may have no more, or null. */
  excess(usage: DiskUsage): string | null;
  /** The figure for a thread: the last one when that was within the limits, else a fresh one. */
  usage(thread: ThreadKey): Promise<DiskUsage>;
  /** A fresh figure. @throws a system error when the directories cannot be read at the moment */
  measure(thread: ThreadKey): Promise<DiskUsage>;
}
