import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { type CommandIdentity, errnoOf } from '@caribou/core';

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

/** Opens a directory and creates it first if it is missing. */
async function openOrCreate(directory: FileHandle, name: string, create: Creation): Promise<FileHandle> {
  const path = below(directory, name);
  const found = await unlessFailed('ENOENT', () => open(path, DIRECTORY));
  const isNew = found === undefined && (await makes(path, create.mode));
  const opened = found ?? (await open(path, DIRECTORY));
  try {
    if (isNew || (await isHalfMade(opened, create))) {
      await giveTo(opened, create.owner);
      await opened.chmod(create.mode);
    }
    return opened;
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** Creates a directory; false when it exists already. */
const makes = async (path: string, mode: number): Promise<boolean> =>
  (await unlessFailed('EEXIST', () => mkdir(path, { mode }).then(() => true))) === true;

/** Returns the result of `act`, or undefined when it fails with the given system error. */
async function unlessFailed<T>(errno: string, act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (errnoOf(error) !== errno) throw error;
    return undefined;
  }
}

/**
 * Whether a directory was created but not yet given to its owner, by a process that was killed in between or is about to
 * do it. No command can create a directory that belongs to root.
 */
async function isHalfMade(directory: FileHandle, { owner }: Creation): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  const { uid, gid } = await directory.stat();
  return uid === 0 && (owner.uid !== 0 || (owner.gid !== 0 && gid === 0));
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
