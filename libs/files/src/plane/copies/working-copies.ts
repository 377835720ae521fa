import { type CommandIdentity, commandIdentity, type FileHead, type ThreadKey, type TreeStore } from '@caribou/core';
import { hasFreeProcessor } from '../local/free-processor.js';
import { IndexFiles } from '../local/index-files.js';
import type { ThreadFiles } from '../../thread-files.js';
import { BegunWrites } from './begun-writes.js';
import { evictCopies, type Evicted, type EvictOptions, removeCopy } from './evict.js';
import type { CopyParts } from './open-copy.js';
import type { PublishOptions, PublishPlan } from './publication.js';
import { planPublication } from './publish.js';
import { type Refreshed, refreshCopy } from './refresh.js';

export interface WorkingCopyOptions {
  /** CARIBOU_HOME. */
  readonly homeDir: string;
  readonly store: TreeStore;
  /** The user of commands, who owns the files. */
  readonly owner?: CommandIdentity;
  /** Copies with more entries are scanned by a process of its own. */
  readonly maxWalked?: number;
  /** Whether the file system gives each change of a file a time of its own; default: it is measured. */
  readonly hasFineTimes?: boolean;
  /** Two processes share a scan when each has at least so many entries; by default only while a processor is free. */
  readonly minShare?: number;
  /** Larger files are left out, in bytes. */
  readonly maxFileBytes?: number;
}

const MAX_WALKED = 2_000;
/** What find looks at in twice the time that one more process takes to start. */
const MIN_SHARE = 2_000;
const MAX_FILE_BYTES = 16 * 1024 ** 3;

/**
 * The local copies of threads' files on this machine: the three data directories below CARIBOU_HOME, which sandboxes mount, and
 * beside them an index (`copy/`), which they cannot reach. The truth is the head of the thread's generations; what a copy has beyond
 * it is found by comparing with the index.
 *
 *  C1  the operations of one thread never overlap in this process, and no other process of the machine works on it: callers hold the
 *      lane of the thread. Commands may run at any time
 *  C2  an index that is lost or damaged costs time and never files of the head: `refresh` makes the copy equal to the head again
 *  C3  a crash at any point leaves a copy that the next `refresh` completes, and local changes that it keeps
 *
 * Regular files, directories and symbolic links are copied, with permissions and times of modification (milliseconds), names of any
 * bytes. Each name of a file with several becomes a file of its own. FIFOs, sockets and devices are left out, as is what this
 * process may not read: all of these are counted.
 */
export class WorkingCopies {
  private readonly parts: CopyParts;

  constructor(options: WorkingCopyOptions) {
    const { homeDir, store, owner, maxWalked, minShare, hasFineTimes, maxFileBytes } = options;
    const identity = owner ?? commandIdentity();
    this.parts = {
      homeDir,
      store,
      owner: identity,
      indexes: new IndexFiles(homeDir, identity, hasFineTimes),
      writes: new BegunWrites(store),
      maxWalked: maxWalked ?? MAX_WALKED,
      minShare: () => minShare ?? (hasFreeProcessor() ? MIN_SHARE : Number.POSITIVE_INFINITY),
      maxFileBytes: maxFileBytes ?? MAX_FILE_BYTES,
    };
  }

  /**
   * Makes the directories equal to the head's trees, and the directories themselves when they are missing. Local changes that are
   * not published are kept, path by path, unless the head was set back since (`resetAt`), was taken over by another machine (`takenAt`), or is of another home. Without a head a
   * copy of former files is emptied, and one that was never published stays.
   *
   * @throws {UnavailableError} when the store is away or damaged; the next call completes what was begun
   */
  refresh(thread: ThreadKey, head: FileHead | null): Promise<Refreshed> {
    return refreshCopy(this.parts, thread, head);
  }

  /**
   * Looks for local changes since the last publication. Null when there are none, and for a copy whose changes `refresh` would drop.
   * The plan stores them when it is asked to, which may be in the background; that counts as an operation of the thread too, but
   * commands may run meanwhile: what they change is found the next time.
   *
   * @throws {TooLargeError} for more files than a thread may have
   */
  publish(thread: ThreadKey, options: PublishOptions): Promise<PublishPlan | null> {
    return planPublication(this.parts, thread, options);
  }

  /** The files of threads: what is written through them is stored meanwhile, so that `publish` has less to wait for. */
  storingWrites(files: ThreadFiles): ThreadFiles {
    return this.parts.writes.during(files);
  }

  /** Removes the local copy and its index; local changes are lost. Idempotent. */
  remove(thread: ThreadKey): Promise<void> {
    return removeCopy(this.parts, thread);
  }

  /**
   * Removes copies of deleted threads, and then those that were not used for longest until the limits are kept: only copies whose
   * changes are all published. Also completes removals that a killed process has begun.
   */
  evict(options: EvictOptions): Promise<Evicted> {
    return evictCopies(this.parts, options);
  }
}
