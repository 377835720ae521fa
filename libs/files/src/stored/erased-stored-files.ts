import type { FileGenerations } from '@caribou/core';
import type { ErasedFiles } from '../erased-files.js';

/**
 * Deleted files in an object store. The record of a thread's files is removed with the thread, so there is nothing to move
 * aside; objects that nothing names any more are removed by garbage collection.
 */
export function erasedStoredFiles(generations: Pick<FileGenerations, 'threadsWithFiles'>): ErasedFiles {
  return {
    moveThread: ({ userId, threadId }, token) => Promise.resolve(`${userId}.${threadId}.${token}`),
    moveUser: (userId, token) => Promise.resolve(`${userId}.${token}`),
    threadsIn: (aside) => threadsOf(generations, aside.slice(0, aside.indexOf('.'))),
    empty: () => Promise.resolve(true),
    drop: () => Promise.resolve(true),
  };
}

/** All threads of a user with files, in lists. */
export async function* threadsOf(
  generations: Pick<FileGenerations, 'threadsWithFiles'>,
  userId: string,
): AsyncGenerator<readonly string[], void, undefined> {
  for (let skip = 0; ; ) {
    const ids = await generations.threadsWithFiles(userId, skip);
    if (ids.length === 0) return;
    yield ids;
    skip += ids.length;
  }
}
