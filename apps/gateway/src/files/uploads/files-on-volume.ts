import type { UserFiles } from '@caribou/files';

/** Files of threads, each of whose operations first makes sure that they lie on the volume that everybody uses. */
export function filesOnVolume(files: UserFiles, ensure: () => Promise<void>): UserFiles {
  const ensured = async <Reply>(act: () => Promise<Reply>): Promise<Reply> => {
    await ensure();
    return await act();
  };
  return {
    openIntake: (thread, options) => ensured(() => files.openIntake(thread, options)),
    list: (thread, directory, maxFiles) => ensured(() => files.list(thread, directory, maxFiles)),
    copyAll: (thread, to) => ensured(() => files.copyAll(thread, to)),
    open: (thread, path) => ensured(() => files.open(thread, path)),
    replaceText: (thread, path, replacement) => ensured(() => files.replaceText(thread, path, replacement)),
    remove: (thread, path) => ensured(() => files.remove(thread, path)),
    removeUnchanged: (thread, directory, entry) => ensured(() => files.removeUnchanged(thread, directory, entry)),
  };
}
