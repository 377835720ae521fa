import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { type CommandIdentity, errnoOf, type ThreadKey } from '@caribou/core';
import { threadNames } from './thread-path.js';

/** The directory that holds a thread's three; its owner is the user of the thread's commands. */
export const DATA = 'user-data';

/**
 * The user whom files of a thread are given to: the owner of its data, which no command can change, or `fallback` for a
 * thread that has none yet. A process that is not root gives files to nobody.
 */
export async function threadOwner(
  homeDir: string,
  thread: ThreadKey,
  fallback: CommandIdentity,
): Promise<CommandIdentity> {
  if (process.getuid?.() !== 0) return fallback;
  try {
    const { uid } = await lstat(join(homeDir, ...threadNames(thread), DATA));
    return uid === 0 ? fallback : { uid, gid: fallback.gid };
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return fallback;
    throw error;
  }
}
