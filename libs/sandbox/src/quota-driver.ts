import { type Clock, type DiskUsage, errnoOf, type ThreadQuota } from '@caribou/core';
import type { SandboxCommand, CommandResult, SandboxSpec, SandboxDriver } from './drivers/driver.js';

/**
 * Limits commands to the thread's quota. File systems have none, so usage is measured while a command runs:
 *
 *  Q1  a command is ended once its thread has more than the quota: measured after a second, then each second, so it
 *      may be over by what a disk takes in that time, and one that is over within a second is not ended but counted
 *  Q2  with more than the quota a thread's commands still run, so that they can remove files, but none may write more
 *      than a few bytes to a file, and each is ended once there is more than there was at its start
 *  Q3  a command within its first second in a thread within the quota pays nothing but a timer
 *  Q4  files that a command has removed but still writes to are in no directory: when they fill the disk, all commands
 *      that measure it then are ended, and those files are freed with them
 */

const MEASURE_MS = 1000;
/** The time between measurements for a command that began over the quota. */
const STRICT_MEASURE_MS = 25;
/** Measuring may take this share of the time of a command: many files are measured less often. */
const MEASURE_SHARE = 0.2;
/** Over the quota: the largest file that may be written, and the growth since the start, for temporary files. */
const STRICT_FILE_BYTES = 4096;
const UNCOUNTED_MS = 10_000;
const STRICT_SLACK = { bytes: 1024 * 1024, files: 64 };

interface Watched {
  readonly quota: ThreadQuota;
  readonly sandbox: SandboxSpec;
  /** The usage at the start, when it was over the quota. */
  readonly over: DiskUsage | null;
  readonly clock: Clock;
}

/** The driver, with commands within the quota. */
export function withinQuota(driver: SandboxDriver, quota: ThreadQuota, clock: Clock): SandboxDriver {
  return {
    kind: driver.kind,
    probe: () => driver.probe(),
    create: (sandbox, options) => driver.create(sandbox, options),
    remove: (sandbox) => driver.remove(sandbox),
    isAlive: (sandbox) => driver.isAlive(sandbox),
    domain: () => driver.domain(),
    list: () => driver.list(),
    removeInstance: (listed) => driver.removeInstance(listed),
    warmSandboxes: () => driver.warmSandboxes?.() ?? 0,
    close: () => driver.close?.() ?? Promise.resolve(),
    exec: async (sandbox, command, signal) => {
      const usage = await quota.usage(sandbox);
      const over = quota.excess(usage) === null ? null : usage;
      return execWithinQuota(driver, command, { watched: { quota, sandbox, over, clock }, signal });
    },
  };
}

async function execWithinQuota(
  driver: SandboxDriver,
  command: SandboxCommand,
  { watched, signal }: { readonly watched: Watched; readonly signal: AbortSignal },
): Promise<CommandResult> {
  const { quota, sandbox, over } = watched;
  const ended = new AbortController();
  const excess = new AbortController();
  const watching = watch(watched, ended.signal, () => excess.abort());
  const strict = over === null ? command : { ...command, maxFileBytes: STRICT_FILE_BYTES };
  try {
    const result = await driver.exec(sandbox, strict, AbortSignal.any([signal, excess.signal]));
    ended.abort();
    const reason = await watching;
    if (reason !== null && result.endedBy === 'cancel' && !signal.aborted) {
      return { ...result, endedBy: 'quota', stderr: result.stderr + notice('ended', reason) };
    }
    // Files that are brought here at the end of a command were measured by what has ended it.
    if (result.endedBy === 'quota') await lookAgain(quota, sandbox);
    const held = over === null ? null : quota.excess(await quota.usage(sandbox));
    return held === null ? result : { ...result, stderr: result.stderr + notice('nothing can be written', held) };
  } finally {
    ended.abort();
    await watching;
    if (over === null) void lookAgain(quota, sandbox);
  }
}

const notice = (what: string, reason: string): string => `\n[${what}: ${reason}. Remove files to go on.]\n`;

/** Measures until `ended`; calls `onExcess` once a limit is exceeded, and returns which. */
async function watch(watched: Watched, ended: AbortSignal, onExcess: () => void): Promise<string | null> {
  const { quota, sandbox, over, clock } = watched;
  const startedMs = clock.monotonicMs();
  const everyMs = over === null ? MEASURE_MS : STRICT_MEASURE_MS;
  let waitMs = everyMs;
  while (!ended.aborted) {
    await clock.sleep(waitMs, ended).catch((reason: unknown) => {
      if (!ended.aborted) throw reason;
    });
    if (ended.aborted) return null;
    const beganMs = clock.monotonicMs();
    const usage = await lookAgain(quota, sandbox);
    waitMs = Math.max(everyMs, (clock.monotonicMs() - beganMs) / MEASURE_SHARE);
    if (usage !== null && isTooMuch(watched, usage, beganMs - startedMs)) {
      onExcess();
      return quota.excess(usage);
    }
  }
  return null;
}

function isTooMuch({ quota, over }: Watched, usage: DiskUsage, ranMs: number): boolean {
  if (quota.excess(usage) === null) return false;
  if (over === null) return true;
  // There are too many files to see whether they get fewer: the command gets some time to remove files.
  if (over.isFull && usage.isFull) return ranMs > UNCOUNTED_MS;
  const isMore = usage.bytes > over.bytes + STRICT_SLACK.bytes || usage.files > over.files + STRICT_SLACK.files;
  return isMore || (usage.tooDeep && !over.tooDeep);
}

/** Measures usage; null when the system cannot measure at the moment: then the last figure counts. */
async function lookAgain(quota: ThreadQuota, sandbox: SandboxSpec): Promise<DiskUsage | null> {
  try {
    return await quota.measure(sandbox);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return null;
  }
}
