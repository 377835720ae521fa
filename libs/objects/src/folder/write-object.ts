import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errnoOf } from '@caribou/core';
import type { Pieces } from '../common/checked-body.js';
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
  readonly signal: AbortSignal;
}

/**
 * Writes a file beside the objects, on the same disk, and moves it to its place: readers see all of it or nothing. Pieces that
 * fail, an abort or a full disk leave no trace.
 */
export async function writeObject(pieces: Pieces, options: WriteOptions): Promise<void> {
  const temporary = join(temporaryDirectory(options.root), randomUUID());
  try {
    await writeTemporary(temporary, pieces, options);
    await moveToPlace(temporary, options);
  } catch (error) {
    // A file that stays is removed by its age; why the object could not be written matters more.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  if (options.isDurable) await Promise.all(directoriesOf(options.root, options.file).map(syncDirectory));
}

async function writeTemporary(temporary: string, pieces: Pieces, { isDurable, signal }: WriteOptions): Promise<void> {
  const file = await createFile(temporary);
  try {
    for await (const piece of pieces) {
      signal.throwIfAborted();
      await file.writeFile(piece);
    }
    if (isDurable) await file.sync();
  } finally {
    await file.close();
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

async function moveToPlace(temporary: string, { file, signal }: WriteOptions): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      if (attempt > 1) await mkdir(dirname(file), { recursive: true, mode: DIRECTORY_MODE });
      await rename(temporary, file);
      return;
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT' || attempt === MOVE_ATTEMPTS) throw error;
    }
  }
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
