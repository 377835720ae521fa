import { chmodSync, chownSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { closedDirectoryOf, type CommandIdentity, commandIdentity, errnoOf } from '@caribou/core';

/**
 * CARIBOU_HOME is closed to the machine's other users: a user who can reach a file that a command has made can also
 * read or execute it. When this process is root, the user of commands may pass through the platform's directories by
 * their group, as bwrap mounts by path; otherwise that user is this process's own.
 */

/** Directories of the platform that have users' files below them, and sockets and records of earlier versions. */
const CLOSED_DIRECTORIES = ['users', 'egress', 'sandboxes'];

const OWNER_BITS = 0o700;
const GROUP_SEARCH = 0o010;
const OTHERS_SEARCH = 0o001;
const OTHERS_BITS = 0o007;

const isRoot = (): boolean => process.getuid?.() === 0;

function close(path: string): void {
  const { owner, mode } = closedDirectoryOf(commandIdentity());
  if (isRoot()) chownSync(path, owner.uid, owner.gid);
  chmodSync(path, mode);
}

/** Creates the home if it is missing, and closes what an earlier version left open in it. Idempotent. */
export function prepareHome(homeDir: string): void {
  mkdirSync(homeDir, { recursive: true, mode: OWNER_BITS });
  const commands = commandIdentity();
  closeHome(homeDir, commands);
  const { mode } = closedDirectoryOf(commands);
  for (const path of CLOSED_DIRECTORIES.map((name) => join(homeDir, name))) {
    if (((modeOf(path) ?? mode) & ~mode) !== 0) close(path);
  }
}

/**
 * Removes the access of other users to the home. The user of commands of a root process has access by its group from
 * then on, unless the operator has given the home a group.
 */
function closeHome(homeDir: string, { gid }: CommandIdentity): void {
  const { mode, gid: group } = statSync(homeDir);
  if ((mode & OTHERS_BITS) === 0) return;
  const passes = isRoot() && group === 0 && (mode & OTHERS_SEARCH) !== 0;
  if (passes) chownSync(homeDir, -1, gid);
  chmodSync(homeDir, passes ? OWNER_BITS | GROUP_SEARCH : mode & 0o777 & ~OTHERS_BITS);
}

function modeOf(path: string): number | undefined {
  try {
    return statSync(path).mode & 0o777;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
