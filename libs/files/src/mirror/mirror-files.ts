import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  futimesSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { type CommandIdentity, DATA_DIRECTORIES, errnoOf } from '@caribou/core';
import { emptyDirectory } from '../empty-directory.js';
import { PERMISSION_BITS } from '../plane/tree/tree-nodes.js';
import { DIRECTORY_MODE } from '../thread-path.js';

const OWNER_ONLY = 0o700;
const CLOCK = 'clock';
const CLOCK_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW;

/** Where the files of one side of an exchange are. Both directories are on the same file system and the same mount. */
export interface MirrorDirectories {
  /** Has the data directories. */
  readonly userData: string;
  /** Has files on their way; it is made when it is missing. */
  readonly staging: string;
  readonly owner: CommandIdentity;
}

/** Makes the data directories that are missing, and opens them to their owner; what has the name of one and is no directory is moved out. */
export function prepareDataDirectories({ userData, staging }: Pick<MirrorDirectories, 'userData' | 'staging'>): void {
  for (const name of DATA_DIRECTORIES) {
    const path = join(userData, name);
    const kind = kindOf(path);
    if (kind === 'directory') {
      openToOwner(path);
      continue;
    }
    if (kind === 'other') {
      makeStaging(staging);
      renameSync(path, join(staging, randomUUID()));
    }
    mkdirSync(path, { mode: DIRECTORY_MODE });
  }
}

/** Lets the owner in, whom a command may have locked out. */
function openToOwner(path: string): void {
  const { mode } = lstatSync(path);
  if ((mode & OWNER_ONLY) !== OWNER_ONLY) chmodSync(path, (mode & PERMISSION_BITS) | OWNER_ONLY);
}

function kindOf(path: string): 'directory' | 'other' | 'nothing' {
  try {
    return lstatSync(path).isDirectory() ? 'directory' : 'other';
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return 'nothing';
    throw error;
  }
}

/** Makes the directory of files on their way; commands of a sandbox may have put something else there. Idempotent. */
export function makeStaging(staging: string): void {
  const kind = kindOf(staging);
  if (kind === 'other') unlinkSync(staging);
  if (kind === 'directory') chmodSync(staging, OWNER_ONLY);
  else mkdirSync(staging, { recursive: true, mode: OWNER_ONLY });
}

/** The time of the file system, in milliseconds, by the time of change of a directory that this process owns. */
export function directoryClockMs(path: string): number {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    // A change to the same mode is one.
    fchmodSync(descriptor, fstatSync(descriptor).mode & PERMISSION_BITS);
    return fstatSync(descriptor).ctimeMs;
  } finally {
    closeSync(descriptor);
  }
}

/** The time of the file system, in milliseconds, by a file among those on their way. */
export function fileSystemClockMs(staging: string): number {
  makeStaging(staging);
  const clock = openSync(join(staging, CLOCK), CLOCK_FLAGS, 0o600);
  try {
    const now = new Date();
    futimesSync(clock, now, now);
    return fstatSync(clock).ctimeMs;
  } finally {
    closeSync(clock);
  }
}

/** Removes the directory of files on their way, with all that is left in it. */
export async function removeStaging(staging: string): Promise<void> {
  const kind = kindOf(staging);
  if (kind === 'nothing') return;
  if (kind === 'other') return unlinkSync(staging);
  openToOwner(staging);
  await emptyDirectory(staging, new AbortController().signal);
  rmSync(staging, { recursive: true, force: true });
}
