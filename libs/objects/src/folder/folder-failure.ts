import { errnoOf } from '@caribou/core';
import { StoreFailure, type StoreFailureReason } from '../common/store-failure.js';

const known: Readonly<Record<string, readonly [StoreFailureReason, string]>> = {
  ENOSPC: ['full', 'the disk of its folder is full: make space'],
  EDQUOT: ['full', 'the disk quota of its folder is used up: raise it, or make space'],
  EROFS: ['permission', 'its folder is on a disk that is mounted read-only'],
  EACCES: ['permission', 'this process may not use its folder: it must own all that is in it'],
  EPERM: ['permission', 'this process may not use its folder: it must own all that is in it'],
  EMFILE: ['overloaded', 'this process has too many open files'],
  ENFILE: ['overloaded', 'this machine has too many open files'],
  ENOTDIR: ['failed', 'a file is where its folder, or a directory of it, should be'],
  ELOOP: ['failed', 'a link is where an object should be'],
  EIO: ['failed', 'its disk cannot be read or written (EIO)'],
};

/** The failure for an error of a system call; other errors stay as they are. */
export function folderFailure(error: unknown): unknown {
  const code = errnoOf(error);
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) return error;
  const [reason, text] = known[code] ?? ['failed', `its folder cannot be used (${code})`];
  return new StoreFailure(reason, text, { cause: error });
}
