import { spawnSync } from 'node:child_process';
import { closeSync, fstatSync, futimesSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@caribou/testing';
import { hasFineTimes, isSettled } from './file-times.js';

const folder = temporaryFolder();
const CHANGES = 300;

/** What is concluded of the file system of a folder, and how many different times as many changes have. */
function timesIn(path: string): { readonly isFine: boolean; readonly different: number } {
  const file = openSync(join(path, 'file'), 'w');
  try {
    const isFine = hasFineTimes(file);
    const times = Array.from({ length: CHANGES }, () => {
      futimesSync(file, 1, 1);
      return fstatSync(file).ctimeMs;
    });
    return { isFine, different: new Set(times).size };
  } finally {
    closeSync(file);
  }
}

test('all changes have different times where the file system is said to tell them apart', () => {
  const { isFine, different } = timesIn(folder);
  expect(different === CHANGES).toBe(isFine);
});

describe('a file system with the times of ticks', () => {
  const ticking = join(folder, 'ticking');
  mkdirSync(ticking);
  const isMounted = process.getuid?.() === 0 && spawnSync('mount', ['-t', 'ramfs', 'ramfs', ticking]).status === 0;
  afterAll(() => {
    if (isMounted) spawnSync('umount', [ticking]);
  });
  if (!isMounted) process.stderr.write('skipped: times of ticks (no ramfs can be mounted here)\n');

  (isMounted ? test : test.skip)('is recognized', () => {
    const { isFine, different } = timesIn(ticking);
    expect(different).toBeLessThan(CHANGES);
    expect(isFine).toBe(false);
  });
});

test('a stamp is settled when its last change was before the time', () => {
  const stamp = { kind: 'file', ino: 1, mode: 0o644, size: 1, mtimeMs: 5, ctimeMs: 10 } as const;
  expect([10, 10.5, Number.POSITIVE_INFINITY].map((time) => isSettled(stamp, time))).toEqual([false, true, true]);
});
