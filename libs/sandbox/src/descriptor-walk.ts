import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { errnoOf } from './file-refused.js';
import type { CommandIdentity } from './identity.js';

/**
 * Descent by descriptors: every step opens one name below an open directory and refuses links, so no rename by a
 * running command can lead it elsewhere. `/proc/self/fd/<n>/<name>` is openat() for Node.
 */

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** The path by which a name is reached through an open directory. */
export const below = (directory: FileHandle, name: string): string => `/proc/self/fd/${directory.fd}/${name}`;

export interface Creation {
  readonly owner: CommandIdentity;
  readonly mode: number;
}

async function openOrCreate(directory: FileHandle, name: string, create: Creation): Promise<FileHandle> {
  try {
    return await open(below(directory, name), DIRECTORY);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
  try {
    await mkdir(below(directory, name), { mode: create.mode });
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
    return open(below(directory, name), DIRECTORY);
  }
  const made = await open(below(directory, name), DIRECTORY);
  try {
    await giveTo(made, create.owner);
    await made.chmod(create.mode);
    return made;
  } catch (error) {
    await made.close();
    throw error;
  }
}

/** Gives an open file or directory to the user of commands, when this process may. */
export async function giveTo(handle: FileHandle, owner: CommandIdentity): Promise<void> {
  if (process.getuid?.() === 0) await handle.chown(owner.uid, owner.gid);
}

/**
 * An open descriptor of the directory `names` below `root`; the caller closes it. With `create`, missing directories
 * are made and owned as it says.
 *
 * @throws a system error: ELOOP or ENOTDIR where a name is a link or no directory, ENOENT where it is missing
 */
export async function openDirectory(root: string, names: readonly string[], create?: Creation): Promise<FileHandle> {
  let directory = await open(root, DIRECTORY);
  for (const name of names) {
    try {
      const next =
        create === undefined
          ? await open(below(directory, name), DIRECTORY)
          : await openOrCreate(directory, name, create);
      await directory.close();
      directory = next;
    } catch (error) {
      await directory.close();
      throw error;
    }
  }
  return directory;
}
