import { randomUUID } from 'node:crypto';
import { chmod, lstat, mkdir, open, opendir, rename, rmdir, unlink, type FileHandle } from 'node:fs/promises';
import { constants } from 'node:fs';
import { join } from 'node:path';
import { ThreadId, UserId } from '@caribou/contracts';
import { closedDirectoryOf, commandIdentity, errnoOf, type ThreadKey } from '@caribou/core';
import { prepareHome } from './data-home.js';
import { below, openDirectory } from './descriptor-walk.js';
import { threadNames } from './thread-path.js';

/**
 * Files of deleted threads and users. Deleting moves a directory away in one step, so that the next thread or user with
 * the id never sees it; the moved directory is removed afterwards, for as long as that takes.
 *
 *  E1  a directory is moved to a name once: a marker stays under the name when the content is gone, and a rename never
 *      replaces a directory that has one. So a process that was paused before its rename cannot move the files of a
 *      later thread or user with the same id; `drop` removes the marker when no process can be paused for so long
 *  E2  all that a command created is removed by descriptors, links are not followed, and depth costs nothing:
 *      directories are moved up before they are emptied
 */
export interface ErasedFiles {
  /** Moves a thread's files away; returns the name under which they are. Idempotent. */
  moveThread(thread: ThreadKey, token: string): Promise<string>;
  /** The same for all files of a user, skills included. */
  moveUser(userId: string, token: string): Promise<string>;
  /**
   * The ids of threads whose files a user had when they were moved, also of threads without a record; in lists of at
   * most a thousand.
   */
  threadsIn(aside: string): AsyncIterable<readonly string[]>;
  /** Removes the moved files; returns whether only the marker is left. Stops early at the signal. Idempotent. */
  empty(aside: string, signal: AbortSignal): Promise<boolean>;
  /** Removes the marker of an empty directory if it is at least that old; returns whether it is gone. Idempotent. */
  drop(aside: string, ageMs: number): Promise<boolean>;
}

/** The directory for moved files, among those of users; no user has this id. */
const ASIDE = '.erased';
const MARKER = 'moved';
const MAX_LISTED = 1_000;
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** The mode that reopens a directory which its owner has closed to himself. */
const OWNER_BITS = 0o700;
const gone = new Set(['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR']);

/** The erased files below `homeDir` (CARIBOU_HOME). */
export function createErasedFiles(homeDir: string): ErasedFiles {
  const pathOf = (aside: string): string => join(homeDir, 'users', ASIDE, aside);
  const move = async (names: readonly string[], aside: string): Promise<string> => {
    prepareHome(homeDir);
    const made = await openDirectory(homeDir, ['users', ASIDE], closedDirectoryOf(commandIdentity()));
    await made.close();
    await moveAside(join(homeDir, ...names), pathOf(aside));
    return aside;
  };
  return {
    moveThread: (thread, token) => move(threadNames(thread), `${thread.userId}.${thread.threadId}.${token}`),
    moveUser: (userId, token) => move(['users', UserId.parse(userId)], `${userId}.${token}`),
    threadsIn: (aside) => threadsIn(join(pathOf(aside), 'threads')),
    empty: (aside, signal) => emptyDirectory(pathOf(aside), signal),
    drop: async (aside, ageMs) => {
      const made = await unless('ENOENT', lstat(join(pathOf(aside), MARKER)));
      if (made !== undefined && Date.now() - made.mtimeMs < ageMs) return false;
      await unless('ENOENT', unlink(join(pathOf(aside), MARKER)));
      await unless('ENOENT', rmdir(pathOf(aside)));
      return true;
    },
  };
}

/** Moves a directory once, and leaves the marker (E1). */
async function moveAside(from: string, to: string): Promise<void> {
  const marker = join(to, MARKER);
  if ((await unless('ENOENT', lstat(marker))) !== undefined) return;
  try {
    await rename(from, to);
  } catch (error) {
    const code = errnoOf(error) ?? '';
    if (!gone.has(code)) throw error;
    if (code === 'ENOENT') await unless('EEXIST', mkdir(to, OWNER_BITS));
  }
  const made = await open(marker, 'w', 0o600);
  await made.close();
}

async function* threadsIn(directory: string): AsyncGenerator<readonly string[]> {
  const entries = await unless('ENOENT', opendir(directory));
  if (entries === undefined) return;
  let ids: string[] = [];
  for await (const { name } of entries) {
    if (ThreadId.safeParse(name).success) ids.push(name);
    if (ids.length < MAX_LISTED) continue;
    yield ids;
    ids = [];
  }
  yield ids;
}

/** Removes everything but the marker (E2). Returns whether nothing else is left. */
async function emptyDirectory(path: string, signal: AbortSignal): Promise<boolean> {
  const top = await unless('ENOENT', open(path, DIRECTORY));
  if (top === undefined) return true;
  try {
    let left = true;
    while (left && !signal.aborted) {
      left = false;
      for await (const { name } of await opendir(below(top, '.'))) {
        if (name === MARKER) continue;
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
async function unless<T>(code: string, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (errnoOf(error) === code) return undefined;
    throw error;
  }
}
