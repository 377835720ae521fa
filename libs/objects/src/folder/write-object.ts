import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { LRUCache } from 'lru-cache';
import { errnoOf } from '@caribou/core';
import type { Pieces } from '../common/checked-body.js';
import { isMissing } from './list-objects.js';
import { directoriesOf, temporaryDirectory } from './object-path.js';

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
/** Attempts to move a file into a directory that others remove as soon as it is empty. */
const MOVE_ATTEMPTS = 100;

export interface WriteOptions {
  readonly root: string;
  /** Where the object belongs, below the root. */
  readonly file: string;
  /** Whether the object must survive a power cut once this has returned. */
  readonly isDurable: boolean;
  /** Of this process; the call adds to it. */
  readonly durableDirectories: DurableDirectories;
  /** One that is to replace another waits for it: if it rejects, nothing is replaced. */
  readonly needed?: Promise<unknown> | undefined;
  readonly signal: AbortSignal;
}

/** A bounded set of paths: of directories whose own names are on the disk. */
export type DurableDirectories = LRUCache<string, true>;

/**
 * Writes a file beside the objects, on the same disk, and moves it to its place: readers see all of it or nothing. Pieces that
 * fail, an abort or a full disk leave no trace.
 *
 * A new object goes to the disk together with its name, which a journalling file system writes at once; one that replaces another goes
 * there first, so that a power cut leaves the former or the new one.
 */
export async function writeObject(pieces: Pieces, options: WriteOptions): Promise<void> {
  const temporary = join(temporaryDirectory(options.root), randomUUID());
  const handle = await createFile(temporary);
  try {
    const isNew = await placeObject(handle, { temporary, pieces }, options);
    if (options.isDurable) await Promise.all([isNew ? handle.sync() : undefined, syncDirectories(options)]);
  } finally {
    await handle.close();
  }
}

interface Draft {
  readonly temporary: string;
  readonly pieces: Pieces;
}

/** Whether there was no such object before. */
async function placeObject(handle: FileHandle, { temporary, pieces }: Draft, options: WriteOptions): Promise<boolean> {
  const { file, isDurable, needed, signal } = options;
  const absence = isDurable || needed !== undefined ? isAbsent(file) : Promise.resolve(true);
  absence.catch(() => undefined);
  try {
    for await (const piece of pieces) {
      signal.throwIfAborted();
      await handle.writeFile(piece);
    }
    const isNew = await absence;
    if (!isNew) {
      if (isDurable) await handle.sync();
      await needed;
    }
    await moveToPlace(temporary, options);
    return isNew;
  } catch (error) {
    // A file that stays is removed by its age; why the object could not be written matters more.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

async function isAbsent(file: string): Promise<boolean> {
  try {
    await access(file);
    return false;
  } catch (error) {
    if (isMissing(error)) return true;
    throw error;
  }
}

async function createFile(temporary: string): Promise<FileHandle> {
  try {
    return await open(temporary, 'wx', FILE_MODE);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
    const made = await mkdir(dirname(temporary), { recursive: true, mode: DIRECTORY_MODE });
    // The store itself must be on the disk before an object in it can be.
    if (made !== undefined) await sync(dirname(made));
    return open(temporary, 'wx', FILE_MODE);
  }
}

/** Makes the directory of an object, which others may have removed as it was empty. */
async function makeDirectory({ root, file, durableDirectories }: WriteOptions): Promise<void> {
  const made = await mkdir(dirname(file), { recursive: true, mode: DIRECTORY_MODE });
  if (made === undefined) return;
  for (const directory of directoriesOf(root, file))
    if (directory.startsWith(made)) durableDirectories.delete(directory);
}

async function moveToPlace(temporary: string, options: WriteOptions): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    options.signal.throwIfAborted();
    try {
      if (attempt > 1) await makeDirectory(options);
      await rename(temporary, options.file);
      return;
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT' || attempt === MOVE_ATTEMPTS) throw error;
    }
  }
}

/** Brings the name of an object to the disk, and those of new directories above it. */
async function syncDirectories({ root, file, durableDirectories }: WriteOptions): Promise<void> {
  const synced: string[] = [];
  for (const directory of directoriesOf(root, file)) {
    await syncDirectory(directory);
    if (durableDirectories.has(directory)) break;
    synced.push(directory);
  }
  for (const directory of synced) durableDirectories.set(directory, true);
}

/** Brings a directory to the disk; one that is gone has lost its objects to a removal. */
async function syncDirectory(directory: string): Promise<void> {
  try {
    await sync(directory);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

async function sync(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
