import { type ThreadKey } from '@caribou/core';
import { BeingErasedError, type ThreadStore } from '@caribou/state';
import type { UserFiles } from '@caribou/files';
import type { Erasures } from './erasures.js';

interface Parts {
  readonly store: ThreadStore;
  readonly files: UserFiles;
}

/**
 * Wraps store and files: before the id of a deleted thread is used again, an interrupted deletion of the old thread is
 * finished, so that its files never appear in the new one.
 */
export function withErasures(erasures: Pick<Erasures, 'settle'>, { store, files }: Parts): Parts {
  const settleFirst = async <T>(thread: ThreadKey, act: () => Promise<T>): Promise<T> => {
    await erasures.settle(thread);
    return act();
  };
  const retryAfterSettling = async <T>(thread: ThreadKey, act: () => Promise<T>): Promise<T> => {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof BeingErasedError)) throw error;
      return settleFirst(thread, act);
    }
  };
  const { copyAll } = files;
  return {
    store: {
      ...store,
      createThread: (thread, metadata) => retryAfterSettling(thread, () => store.createThread(thread, metadata)),
      admit: (request) => retryAfterSettling(request, () => store.admit(request)),
    },
    files: {
      openIntake: (thread, options) => settleFirst(thread, () => files.openIntake(thread, options)),
      list: (thread, directory, maxFiles) => settleFirst(thread, () => files.list(thread, directory, maxFiles)),
      copyAll: copyAll === null ? null : (thread, to) => settleFirst(thread, () => copyAll(thread, to)),
      settle: (thread) => files.settle(thread),
      open: (thread, path) => settleFirst(thread, () => files.open(thread, path)),
      replaceText: (thread, path, replacement) =>
        settleFirst(thread, () => files.replaceText(thread, path, replacement)),
      remove: (thread, path) => settleFirst(thread, () => files.remove(thread, path)),
      removeUnchanged: (thread, directory, entry) =>
        settleFirst(thread, () => files.removeUnchanged(thread, directory, entry)),
    },
  };
}
