import type { DiskUsage, ThreadKey, ThreadQuota } from '@caribou/core';
import { MAX_MEASURED_DEPTH, measureUsage } from './disk-usage.js';
import { QuotaExceededError } from '../file-refused.js';
import type { ThreadFiles } from '../thread-files.js';

/** Limits of the three directories of one thread. */
export interface QuotaLimits {
  readonly workspaceBytes: number;
  readonly workspaceFiles: number;
  /** With less free space than this on the disk nothing more is written. */
  readonly minFreeBytes: number;
}

type Write = (thread: ThreadKey, path: string, content: Uint8Array) => Promise<number>;

const MAX_KNOWN = 10_000;
/** Files are counted up to this many times their limit, so that it shows whether there are more or fewer of them. */
const COUNTED_SHARE = 4;

/** A figure counts for a second, and for so many times as long as measuring it took: else it is measured again. */
const RECENT_MS = 1_000;
const RECENT_SHARE = 20;

const keyOf = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Formats a size for users. */
function sizeText(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1);
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${UNITS[power] ?? ''}`;
}

/** What a thread of this size has too much of; null when it is within its quota. */
export function quotaExcess(
  { bytes, files }: Pick<DiskUsage, 'bytes' | 'files'>,
  { workspaceBytes, workspaceFiles }: Pick<QuotaLimits, 'workspaceBytes' | 'workspaceFiles'>,
): string | null {
  if (bytes > workspaceBytes)
    return `this thread's files take ${sizeText(bytes)}, and may take ${sizeText(workspaceBytes)}`;
  return files > workspaceFiles ? `this thread has ${files} files, and may have ${workspaceFiles}` : null;
}

interface Known {
  readonly usage: DiskUsage;
  /** When the measurement counts no longer, by the clock of `nowMs`. */
  readonly recentUntilMs: number;
}

/**
 * Disk usage of threads: the last measurement plus the files that this process has written since. A figure may lag behind
 * a running command, and behind what other gateways and sandbox-managers write: the disk is what they have in common. So
 * a write of the platform is allowed by a recent measurement only, and refused only after a fresh one.
 */
export class WorkspaceQuota implements ThreadQuota {
  private readonly known = new Map<string, Known>();
  private readonly measuring = new Map<string, Promise<DiskUsage>>();

  constructor(
    private readonly files: ThreadFiles,
    readonly limits: QuotaLimits,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  excess({ bytes, files, tooDeep, freeBytes }: DiskUsage): string | null {
    const { minFreeBytes } = this.limits;
    const beyond = quotaExcess({ bytes, files }, this.limits);
    if (beyond !== null) return beyond;
    if (freeBytes < minFreeBytes)
      return `the disk has ${sizeText(freeBytes)} left, less than the required ${sizeText(minFreeBytes)}`;
    return tooDeep ? `this thread's directories are nested deeper than ${MAX_MEASURED_DEPTH} levels` : null;
  }

  async usage(thread: ThreadKey): Promise<DiskUsage> {
    const known = (await this.measuring.get(keyOf(thread))) ?? this.known.get(keyOf(thread))?.usage;
    return known === undefined || this.excess(known) !== null ? this.measure(thread) : known;
  }

  /** The last figure, however old it is; undefined when none was measured. */
  lastUsage(thread: ThreadKey): DiskUsage | undefined {
    return this.known.get(keyOf(thread))?.usage;
  }

  async measure(thread: ThreadKey): Promise<DiskUsage> {
    const key = keyOf(thread);
    const beganMs = this.nowMs();
    const measuring = measureUsage(this.files, thread, COUNTED_SHARE * this.limits.workspaceFiles);
    this.measuring.set(key, measuring);
    try {
      const usage = await measuring;
      const recentMs = Math.max(RECENT_MS, RECENT_SHARE * (this.nowMs() - beganMs));
      this.remember(key, { usage, recentUntilMs: beganMs + recentMs });
      return usage;
    } finally {
      if (this.measuring.get(key) === measuring) this.measuring.delete(key);
    }
  }

  /**
   * Makes sure that a file of `bytes` may be added.
   *
   * @throws {QuotaExceededError} naming `path` and the limit
   */
  async requireRoom(thread: ThreadKey, path: string, bytes: number): Promise<void> {
    const excess = async (usage: Promise<DiskUsage>): Promise<string | null> => {
      const known = await usage;
      return this.excess({ ...known, bytes: known.bytes + bytes, files: known.files + 1 });
    };
    const known = this.known.get(keyOf(thread));
    const isRecent = known !== undefined && this.nowMs() < known.recentUntilMs;
    if (isRecent && (await excess(this.usage(thread))) === null) return;
    const reason = await excess(this.measure(thread));
    if (reason !== null) throw new QuotaExceededError(path, reason);
  }

  /** Counts a file that the platform has written. */
  onFileAdded(thread: ThreadKey, bytes: number): void {
    const known = this.known.get(keyOf(thread));
    if (known === undefined) return;
    const usage = { ...known.usage, bytes: known.usage.bytes + bytes, files: known.usage.files + 1 };
    this.remember(keyOf(thread), { ...known, usage });
  }

  /** The thread's files under this quota: what is written needs room. */
  guard(files: ThreadFiles): ThreadFiles {
    const within =
      (write: Write): Write =>
      async (thread, path, content) => {
        await this.requireRoom(thread, path, content.byteLength);
        const written = await write(thread, path, content);
        this.onFileAdded(thread, written);
        return written;
      };
    return {
      ...files,
      replace: within((thread, path, content) => files.replace(thread, path, content)),
      append: within((thread, path, content) => files.append(thread, path, content)),
    };
  }

  private remember(key: string, known: Known): void {
    this.known.delete(key);
    this.known.set(key, known);
    const oldest = this.known.keys().next();
    if (this.known.size > MAX_KNOWN && oldest.done !== true) this.known.delete(oldest.value);
  }
}
