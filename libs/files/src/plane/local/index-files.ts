import { randomUUID } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  constants,
  fstatSync,
  futimesSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { closedDirectoryOf, type CommandIdentity, errnoOf, type ThreadKey } from '@caribou/core';
import { openDirectory } from '../../descriptor-walk.js';
import { threadNames } from '../../thread-path.js';
import { applyChange, type CopyIndex, type IndexChange, newIndex } from './copy-index.js';
import { CLOCK_MARGIN_MS, hasFineTimes } from './file-times.js';
import { decodeIndex, encodeIndex, encodeRecord } from './index-codec.js';

/** The directory of a thread's folder that has what is known of its copy. No sandbox can reach it. */
const FOLDER = 'copy';
const INDEX = 'index';
const CLOCK = 'clock';
/** Files on their way to a data directory, and directories on their way out. */
const STAGING = 'staging';
const OWNER_ONLY = 0o600;
/** What an entry takes in memory, roughly. */
const ENTRY_BYTES = 600;
const CACHE_BYTES = 128 * 1024 * 1024;
/** Bytes of later records at least, before the file is written whole again. */
const MIN_JOURNAL_BYTES = 256 * 1024;

interface KnownIndex {
  readonly index: CopyIndex;
  /** The file as this process left it. */
  file: { readonly ino: number; readonly size: number };
  /** Bytes of the first record, which has everything. */
  firstBytes: number;
  /** Whether its end is damaged, so that nothing can be added. */
  readonly isCut: boolean;
}

/** Times of a file system, in milliseconds. */
export interface CopyClock {
  readonly clockMs: number;
  /** What changed last before this time is sure to have another stamp after its next change. */
  readonly settledMs: number;
}

/**
 * The indexes of local copies, in a file each and in memory. A file that another process has written since is read again; one
 * that is lost or damaged is no error: all files are then compared by their checksums. Calls for one thread never overlap.
 */
export class IndexFiles {
  private readonly known = new LRUCache<string, KnownIndex>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ index }) => 1 + ENTRY_BYTES * index.entries.size,
  });

  /** @param isFine whether the file system gives each change a time of its own; undefined: the first reading of the clock finds out */
  constructor(
    private readonly homeDir: string,
    private readonly owner: CommandIdentity,
    private isFine?: boolean,
  ) {}

  /** Makes the folder. Idempotent. */
  async prepare(thread: ThreadKey): Promise<void> {
    const closed = closedDirectoryOf(this.owner);
    const made = await openDirectory(this.homeDir, [...threadNames(thread), FOLDER, STAGING], closed);
    await made.close();
  }

  stagingOf(thread: ThreadKey): string {
    return join(this.folderOf(thread), STAGING);
  }

  /** Whether something was left in staging by a process that died. */
  hasLeftovers(thread: ThreadKey): boolean {
    return readdirSync(this.stagingOf(thread)).length > 0;
  }

  /** The index; undefined when there is none, or it is damaged from its beginning. */
  load(thread: ThreadKey): CopyIndex | undefined {
    const path = this.pathOf(thread);
    const file = statOf(path);
    if (file === undefined) {
      this.known.delete(path);
      return undefined;
    }
    const known = this.known.get(path);
    if (known !== undefined && known.file.ino === file.ino && known.file.size === file.size) return known.index;
    const text = readFileSync(path, 'utf8');
    const { index, bytes } = decodeIndex(text);
    if (bytes === 0) {
      this.known.delete(path);
      return undefined;
    }
    const isCut = bytes < text.length;
    this.known.set(path, { index, file, firstBytes: text.indexOf('\n') + 1, isCut });
    return index;
  }

  /** Adds a change to the index and to its file. */
  append(thread: ThreadKey, change: IndexChange): void {
    const path = this.pathOf(thread);
    const index = this.load(thread) ?? newIndex();
    const known = this.known.get(path);
    applyChange(index, change);
    const record = encodeRecord(change);
    if (known === undefined || known.isCut || known.file.size + record.length > maxSizeOf(known)) {
      this.write(thread, index);
      return;
    }
    try {
      appendFileSync(path, record, { mode: OWNER_ONLY });
      known.file = fileOf(statSync(path));
    } catch (error) {
      this.known.delete(path);
      throw error;
    }
  }

  /** Writes the whole index as one record, in place of the former file. */
  write(thread: ThreadKey, index: CopyIndex): void {
    const path = this.pathOf(thread);
    const draft = join(this.stagingOf(thread), randomUUID());
    const text = encodeIndex(index);
    writeFileSync(draft, text, { mode: OWNER_ONLY, flag: 'wx' });
    renameSync(draft, path);
    const file = fileOf(statSync(path));
    this.known.set(path, { index, file, firstBytes: file.size, isCut: false });
  }

  /** The time of the file system that the thread's files are on, which is also when the copy was last used. */
  readClock(thread: ThreadKey): CopyClock {
    const clock = openSync(join(this.folderOf(thread), CLOCK), constants.O_WRONLY | constants.O_CREAT, OWNER_ONLY);
    try {
      this.isFine ??= hasFineTimes(clock);
      const now = new Date();
      futimesSync(clock, now, now);
      const clockMs = fstatSync(clock).ctimeMs;
      return { clockMs, settledMs: this.isFine ? Number.POSITIVE_INFINITY : clockMs - CLOCK_MARGIN_MS };
    } finally {
      closeSync(clock);
    }
  }

  /** When the copy was last used, in milliseconds; undefined when there is none. */
  usedMs(thread: ThreadKey): number | undefined {
    try {
      return statSync(join(this.folderOf(thread), CLOCK)).ctimeMs;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  private folderOf(thread: ThreadKey): string {
    return join(this.homeDir, ...threadNames(thread), FOLDER);
  }

  private pathOf(thread: ThreadKey): string {
    return join(this.folderOf(thread), INDEX);
  }
}

const maxSizeOf = ({ firstBytes }: KnownIndex): number => firstBytes + Math.max(MIN_JOURNAL_BYTES, firstBytes / 2);

const fileOf = ({ ino, size }: Stats): KnownIndex['file'] => ({ ino, size });

function statOf(path: string): KnownIndex['file'] | undefined {
  try {
    return fileOf(statSync(path));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
