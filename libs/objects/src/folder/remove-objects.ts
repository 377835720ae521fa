import { lstat, opendir, rm, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '@caribou/core';
import { isMissing } from './list-objects.js';
import { directoriesOf, fileOf, temporaryDirectory } from './object-path.js';

/** Removes objects, and the directories that are empty then. */
export async function removeObjects(root: string, keys: readonly string[], signal: AbortSignal): Promise<void> {
  const emptied = new Set<string>();
  for (const key of keys) {
    signal.throwIfAborted();
    const file = fileOf(root, key);
    try {
      await unlink(file);
      for (const directory of directoriesOf(root, file)) if (directory !== root) emptied.add(directory);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  // The longest paths first: a directory is empty when those below it are gone.
  for (const directory of [...emptied].sort((one, other) => other.length - one.length))
    await removeIfEmpty(directory, signal);
}

async function removeIfEmpty(directory: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  try {
    await rmdir(directory);
  } catch (error) {
    const code = errnoOf(error);
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error;
  }
}

/** Removes the files of writers that were killed: those last written to before `beforeMs`. Returns their number. */
export async function removeTemporaries(root: string, beforeMs: number, signal: AbortSignal): Promise<number> {
  const folder = temporaryDirectory(root);
  let removed = 0;
  try {
    for await (const { name } of await opendir(folder)) {
      signal.throwIfAborted();
      const file = join(folder, name);
      if (!(await isOlder(file, beforeMs))) continue;
      await rm(file, { force: true });
      removed += 1;
    }
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
  return removed;
}

async function isOlder(file: string, beforeMs: number): Promise<boolean> {
  try {
    const stats = await lstat(file);
    return stats.isFile() && stats.mtimeMs < beforeMs;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
