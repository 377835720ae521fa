import type { FileGenerations } from '@caribou/core';
import type { ErasedFiles } from '../erased-files.js';
import { threadsOf } from '../plane/user-threads.js';

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
