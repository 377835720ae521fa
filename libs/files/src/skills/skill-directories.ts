import { chmod, chown, lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { UserId } from '@caribou/contracts';
import { closedDirectoryOf, type CommandIdentity, commandIdentity, errnoOf } from '@caribou/core';

/**
 * Where the skills of users lie on the data volume, below `users/<user>/skills`:
 *
 *   staging/<token>   a skill that is being installed or fetched
 *   installed/<id>    an installed skill: its files never change
 *   fetched/<id>      a copy of one whose files are in the object store, which may be removed at any time
 *   views/<version>   the skills that are switched on, as mounted into the user's sandboxes
 *
 * No sandbox can write here, so names are the platform's own.
 */
export type SkillDirectory = 'staging' | 'installed' | 'fetched' | 'views';

export const PUBLIC_DIRECTORY_MODE = 0o755;
export const DATA_MODE = 0o644;
export const PROGRAM_MODE = 0o755;

/** Host path of one of a user's directories. @throws when the id is not of the strict pattern */
export const skillDirectory = (homeDir: string, userId: string, kind: SkillDirectory): string =>
  join(homeDir, 'users', UserId.parse(userId), 'skills', kind);

/** Makes the directory and those above it, closed to the machine's other users. */
export async function prepareSkillDirectory(homeDir: string, userId: string, kind: SkillDirectory): Promise<string> {
  const path = skillDirectory(homeDir, userId, kind);
  const { owner, mode } = closedDirectoryOf(commandIdentity());
  let above = homeDir;
  for (const name of ['users', UserId.parse(userId), 'skills', kind]) {
    above = join(above, name);
    await makeDirectory(above, mode, owner);
  }
  return path;
}

/** Creates a directory with this mode; the mode of an existing one is not changed. */
export async function makeDirectory(path: string, mode: number, owner?: CommandIdentity): Promise<void> {
  try {
    await mkdir(path, { mode });
    if (owner !== undefined && process.getuid?.() === 0) await chown(path, owner.uid, owner.gid);
    await chmod(path, mode);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}

/** Whether the path is a directory; a link to one is not. */
export async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}
