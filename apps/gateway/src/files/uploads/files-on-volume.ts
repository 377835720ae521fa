import type { UserFiles } from '@caribou/files';

/** Wraps the files of threads: each operation first checks that this process uses the shared volume. */
export function filesOnVolume(files: UserFiles, ensure: () => Promise<void>): UserFiles {
  const ensureFirst = async <Reply>(act: () => Promise<Reply>): Promise<Reply> => {
    await ensure();
    return await act();
  };
  return {
    openIntake: (thread, options) => ensureFirst(() => files.openIntake(thread, options)),
    list: (thread, directory, maxFiles) => ensureFirst(() => files.list(thread, directory, maxFiles)),
    copyAll: (thread, to) => ensureFirst(() => files.copyAll(thread, to)),
    hasHistory: files.hasHistory,
    open: (thread, path) => ensureFirst(() => files.open(thread, path)),
    replaceText: (thread, path, replacement) => ensureFirst(() => files.replaceText(thread, path, replacement)),
    remove: (thread, path) => ensureFirst(() => files.remove(thread, path)),
    removeUnchanged: (thread, directory, entry) => ensureFirst(() => files.removeUnchanged(thread, directory, entry)),
  };
}
