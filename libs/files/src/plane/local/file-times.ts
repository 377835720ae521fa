import { fstatSync, futimesSync } from 'node:fs';
import type { Stamp } from './stamps.js';

/**
 * Many file systems stamp a change with the time of the last tick of the kernel, up to 10 ms ago: what was looked at within this time of
 * its last change may have changed again under the same stamp.
 */
export const CLOCK_MARGIN_MS = 20;

/** Whether a later change is sure to have another stamp: the last one was before this time, in milliseconds. */
export const isSettled = ({ ctimeMs }: Stamp, settledMs: number): boolean => ctimeMs < settledMs;

const CHANGES = 16;
/** Less than what so many ticks take on any kernel, in milliseconds. */
const WITHIN_MS = 4;
/** Each takes a tenth of a millisecond, unless another process has the processor. */
const ATTEMPTS = 10;

/**
 * Whether the file system gives each change of a file that somebody has looked at a time of its own, so that all stamps are settled. ext4,
 * xfs, btrfs and tmpfs do with Linux 6.13 and later; elsewhere some of a few changes in quick succession have the same time.
 *
 * @param descriptor of a file whose times may be changed
 */
export function hasFineTimes(descriptor: number): boolean {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const beganMs = performance.now();
    const times = new Set<number>();
    for (let change = 0; change < CHANGES; change += 1) times.add(changedTime(descriptor));
    if (times.size < CHANGES) return false;
    if (performance.now() - beganMs < WITHIN_MS) return true;
  }
  return false;
}

function changedTime(descriptor: number): number {
  const now = new Date();
  futimesSync(descriptor, now, now);
  return fstatSync(descriptor).ctimeMs;
}
