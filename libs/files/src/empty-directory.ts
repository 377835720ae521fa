import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, type FileHandle, lstat, open, opendir, rename, rmdir, unlink } from 'node:fs/promises';
import { errnoOf } from '@caribou/core';
import { below } from './descriptor-walk.js';

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** The mode that reopens a directory which its owner has closed to himself. */
const OWNER_BITS = 0o700;

/**
 * Removes everything in a directory but an entry with the name `except`. Returns whether nothing else is left: not when the signal
 * stopped it. All that a command created is removed by descriptors, links are not followed, and depth costs nothing: directories
 * are moved up before they are emptied. The directory itself is out of reach of sandboxes.
 */
export async function emptyDirectory(path: string, signal: AbortSignal, except?: string): Promise<boolean> {
  const top = await unless('ENOENT', open(path, DIRECTORY));
  if (top === undefined) return true;
  try {
    let left = true;
    while (left && !signal.aborted) {
      left = false;
      for await (const { name } of await opendir(below(top, '.'))) {
        if (name === except) continue;
        if (signal.aborted) return false;
        left = true;
        await removeBelow(top, name, signal);
      }
    }
    return !left;
  } finally {
    await top.close();
  }
}

/** Removes an entry of the top directory; the directories in it move up to be next. */
async function removeBelow(top: FileHandle, name: string, signal: AbortSignal): Promise<void> {
  const path = below(top, name);
  if (await wasUnlinked(path)) return;
  const directory = await openDirectoryToErase(path);
  if (directory === undefined) return;
  try {
    // Root may remove what is in a directory whose owner may not write to it.
    if (process.getuid?.() !== 0) await directory.chmod(OWNER_BITS);
    for await (const entry of await opendir(below(directory, '.'))) {
      if (signal.aborted) return;
      const inner = below(directory, entry.name);
      if (!(await wasUnlinked(inner))) await unless('ENOENT', moveUp(inner, below(top, `up-${randomUUID()}`)));
    }
  } finally {
    await directory.close();
  }
  await unless('ENOENT', unless('ENOTEMPTY', rmdir(path)));
}

/** Whether the entry is gone now; false for a directory. */
async function wasUnlinked(path: string): Promise<boolean> {
  const found = await unless('ENOENT', lstat(path));
  if (found?.isDirectory() === true) return false;
  if (found !== undefined) await unless('ENOENT', unlink(path));
  return true;
}

async function moveUp(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (errnoOf(error) !== 'EACCES') throw error;
    await chmod(from, OWNER_BITS);
    await rename(from, to);
  }
}

async function openDirectoryToErase(path: string): Promise<FileHandle | undefined> {
  try {
    return await unless('ENOENT', open(path, DIRECTORY));
  } catch (error) {
    if (errnoOf(error) !== 'EACCES') throw error;
    await chmod(path, OWNER_BITS);
    return await unless('ENOENT', open(path, DIRECTORY));
  }
}

/** Returns the result of the work, or undefined when it fails with this code. */
export async function unless<T>(code: string, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (errnoOf(error) === code) return undefined;
    throw error;
  }
}
