import type { FileHandle } from 'node:fs/promises';
import { link, lstat, rename } from 'node:fs/promises';
import { type DataDirectory, errnoOf, type ThreadKey } from '@caribou/core';
import { below } from '../descriptor-walk.js';
import { FileRefusedError, toFileRefused } from '../file-refused.js';
import type { ThreadFiles } from '../thread-files.js';
import { type FileEntry, newPartName, removeIfThere } from './upload-intake.js';

/** Names tried for a file whose own name was taken meanwhile. */
const MAX_NAMES = 100;

const isSame = (entry: FileEntry, stat: { isFile(): boolean; readonly size: number; readonly mtimeMs: number }) =>
  stat.isFile() && stat.size === entry.sizeBytes && stat.mtimeMs === entry.modifiedMs;

async function statOf(path: string) {
  try {
    return await lstat(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Renames a file that was moved away back to its name, or to a similar one when that is taken by now. */
async function putBack(directory: FileHandle, aside: string, name: string): Promise<void> {
  for (let count = 0; count < MAX_NAMES; count += 1) {
    try {
      await link(below(directory, aside), below(directory, count === 0 ? name : `restored_${count}_${name}`));
      await removeIfThere(below(directory, aside));
      return;
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
    }
  }
  throw new FileRefusedError('permission', name);
}

/** Renames the file before comparing it, so that a file which takes the name after that is not touched. */
async function removeIn(directory: FileHandle, entry: FileEntry): Promise<boolean> {
  const before = await statOf(below(directory, entry.name));
  if (before === null || !isSame(entry, before)) return false;
  const aside = newPartName();
  await rename(below(directory, entry.name), below(directory, aside));
  const taken = await statOf(below(directory, aside));
  if (taken !== null && !isSame(entry, taken)) {
    await putBack(directory, aside, entry.name);
    return false;
  }
  await removeIfThere(below(directory, aside));
  return true;
}

/**
 * Removes a file that is still as `entry` says, and no other that has its name by now; resolves to whether it did so.
 *
 * @throws {FileRefusedError}
 */
export async function removeUnchanged(
  files: ThreadFiles,
  location: { readonly thread: ThreadKey; readonly directory: DataDirectory },
  entry: FileEntry,
): Promise<boolean> {
  try {
    const directory = await files.openDataDirectory(location.thread, location.directory);
    try {
      return await removeIn(directory, entry);
    } finally {
      await directory.close();
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    const refused = toFileRefused(error, entry.name);
    if (refused.reason === 'not_found') return false;
    throw refused;
  }
}
