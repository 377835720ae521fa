import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { closedDirectoryOf, commandIdentity } from '@caribou/core';

/** Creates a directory of the platform and those above it, and closes it to others even if it existed before. */
export function makeClosedDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  closeDirectory(path);
}

/** Closes a directory of the platform to the machine's other users. */
export function closeDirectory(path: string): void {
  const { owner, mode } = closedDirectoryOf(commandIdentity());
  if (process.getuid?.() === 0) chownSync(path, owner.uid, owner.gid);
  chmodSync(path, mode);
}
