import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentExecHead } from '@caribou/contracts';
import { type DiskUsage, errnoOf } from '@caribou/core';
import { MAX_MEASURED_DEPTH, measureDataDirectories, quotaExcess } from '@caribou/files';

/**
 * Ends commands whose files take more than they may, as the manager does where it shares a disk with its sandboxes: after a second, then
 * each second. A command that begins over the limit may remove files, and is ended when there are more of them than before.
 */

const MEASURE_MS = 1_000;
/** The time between measurements for a command that began over the quota. */
const STRICT_MEASURE_MS = 25;
/** Measuring may take this share of the time of a command: many files are measured less often. */
const MEASURE_SHARE = 0.2;
/** Files are counted up to this many times their limit, so that it shows whether there are more or fewer of them. */
const COUNTED_SHARE = 4;
const STRICT_SLACK = { bytes: 1024 * 1024, files: 64 };
/** A command that began with more files than were counted has this time to remove some, in milliseconds. */
const UNCOUNTED_MS = 10_000;

type Quota = NonNullable<AgentExecHead['quota']>;

export class QuotaWatch {
  /** The last figure; undefined before the first one. */
  private last: DiskUsage | undefined;
  private lastMs = -MEASURE_MS;

  constructor(private readonly userData: string) {}

  /**
   * Measures until the signal aborts; calls `onExcess` with the reason, once, and ends then.
   *
   * @param quota null for no limit
   */
  async run(quota: Quota | null, until: AbortSignal, onExcess: (reason: string) => void): Promise<void> {
    if (quota === null) return;
    const over = await this.overAtStart(quota);
    const everyMs = over === undefined ? MEASURE_MS : STRICT_MEASURE_MS;
    const startedMs = performance.now();
    for (let waitMs = everyMs; await waited(waitMs, until); ) {
      const beganMs = performance.now();
      const usage = await this.measure(quota);
      waitMs = Math.max(everyMs, (performance.now() - beganMs) / MEASURE_SHARE);
      const reason = usage === undefined ? null : excessOf(usage, quota);
      if (usage === undefined || reason === null || until.aborted) continue;
      if (over !== undefined && !isMore(usage, over, beganMs - startedMs)) continue;
      onExcess(reason);
      return;
    }
  }

  /** Notes what the files take between commands, unless that was measured within the last second. */
  async note(quota: Quota | null): Promise<void> {
    if (quota !== null && performance.now() - this.lastMs > MEASURE_MS) await this.measure(quota);
  }

  /** The usage when it is over the quota. A figure within it counts, however old it is. */
  private async overAtStart(quota: Quota): Promise<DiskUsage | undefined> {
    const { last } = this;
    const usage = last !== undefined && excessOf(last, quota) === null ? last : await this.measure(quota);
    return usage === undefined || excessOf(usage, quota) === null ? undefined : usage;
  }

  /** Undefined when the system cannot measure at the moment. */
  private async measure({ files }: Quota): Promise<DiskUsage | undefined> {
    try {
      this.lastMs = performance.now();
      this.last = await measureDataDirectories(this.userData, COUNTED_SHARE * files);
      return this.last;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return undefined;
    }
  }
}

function excessOf(usage: DiskUsage, { bytes, files }: Quota): string | null {
  const reason = quotaExcess(usage, { workspaceBytes: bytes, workspaceFiles: files });
  if (reason !== null) return reason;
  return usage.tooDeep ? `this thread's directories are nested deeper than ${MAX_MEASURED_DEPTH} levels` : null;
}

function isMore(usage: DiskUsage, over: DiskUsage, ranMs: number): boolean {
  if (over.isFull && usage.isFull) return ranMs > UNCOUNTED_MS;
  const { bytes, files } = STRICT_SLACK;
  return usage.bytes > over.bytes + bytes || usage.files > over.files + files || (usage.tooDeep && !over.tooDeep);
}

/** Whether the time has passed before the signal aborted. */
async function waited(ms: number, until: AbortSignal): Promise<boolean> {
  await sleep(ms, undefined, { signal: until }).catch((error: unknown) => {
    if (!until.aborted) throw error;
  });
  return !until.aborted;
}
