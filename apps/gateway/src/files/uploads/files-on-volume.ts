import type { UserFiles } from '@caribou/files';

/** Wraps the files of threads: each operation first checks that this process uses the shared volume. */
export function filesOnVolume({ copyAll, ...files }: UserFiles, ensure: () => Promise<void>): UserFiles {
  const ensureFirst = async <Reply>(act: () => Promise<Reply>): Promise<Reply> => {
    await ensure();
    return await act();
  };
  return {
    openIntake: (thread, options) => ensureFirst(() => files.openIntake(thread, options)),
    list: (thread, directory, maxFiles) => ensureFirst(() => files.list(thread, directory, maxFiles)),
    copyAll: copyAll === null ? null : (thread, to) => ensureFirst(() => copyAll(thread, to)),
    settle: (thread) => files.settle(thread),
    open: (thread, path) => ensureFirst(() => files.open(thread, path)),
    replaceText: (thread, path, replacement) => ensureFirst(() => files.replaceText(thread, path, replacement)),
    remove: (thread, path) => ensureFirst(() => files.remove(thread, path)),
    removeUnchanged: (thread, directory, entry) => ensureFirst(() => files.removeUnchanged(thread, directory, entry)),
  };
}
