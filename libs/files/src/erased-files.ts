import { lstat, mkdir, open, opendir, rename, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ThreadId, UserId } from '@caribou/contracts';
import { closedDirectoryOf, commandIdentity, errnoOf, type ThreadKey } from '@caribou/core';
import { prepareHome } from './data-home.js';
import { openDirectory } from './descriptor-walk.js';
import { emptyDirectory, unless } from './empty-directory.js';
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
    empty: (aside, signal) => emptyDirectory(pathOf(aside), signal, MARKER),
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
