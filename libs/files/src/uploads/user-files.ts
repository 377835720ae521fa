import { omitUndefined } from '@caribou/contracts';
import { commandIdentity, type DataDirectory, type OpenFile, type ThreadKey } from '@caribou/core';
import { type FileList, listFiles, removeFile } from './directory-files.js';
import { type CopiedFiles, copyFiles } from './copy-files.js';
import { openLocalFile } from '../open-file.js';
import { removeUnchanged } from './remove-unchanged.js';
import { threadFiles } from '../thread-files.js';
import { type FileEntry, type IntakeOptions, openUploadIntake, type UploadIntake } from './upload-intake.js';
import { replaceText, type TextReplacement } from '../text/replace-text.js';
import { type QuotaLimits, WorkspaceQuota } from '../quota/workspace-quota.js';

/** Operations of a user on the files of his threads from outside a sandbox. Paths are virtual. */
export interface UserFiles {
  /** An intake into the thread's uploads, which it makes by default; close it whatever happens. @throws {FileRefusedError} */
  openIntake(thread: ThreadKey, options?: IntakeOptions): Promise<UploadIntake>;
  /** Regular files of a directory by name, at most `maxFiles`. */
  list(thread: ThreadKey, directory: DataDirectory, maxFiles: number): Promise<FileList>;
  /**
   * Copies all regular files of a thread, but no links, to another one without files. Null with an object store, where a copy of a
   * thread (`ThreadStore.copyThread`) has the files already.
   *
   * @throws {FileRefusedError}
   */
  readonly copyAll: ((thread: ThreadKey, to: ThreadKey) => Promise<CopiedFiles>) | null;
  /** Asks a manager with changes that are not in the object store yet to store them, before the thread is copied. Never rejects for that. */
  settle(thread: ThreadKey): Promise<void>;
  /** A regular file, open for reading; the caller closes it. @throws {FileRefusedError} */
  open(thread: ThreadKey, path: string): Promise<OpenFile>;
  /** Replaces a text file that still has the expected content; returns whether it had. @throws {FileRefusedError} */
  replaceText(thread: ThreadKey, path: string, replacement: TextReplacement): Promise<boolean>;
  /** Removes a regular file. @throws {FileRefusedError} when the path names none */
  remove(thread: ThreadKey, path: string): Promise<void>;
  /** Removes a file of a directory if it is still as the entry says. @throws {FileRefusedError} */
  removeUnchanged(thread: ThreadKey, directory: DataDirectory, entry: FileEntry): Promise<boolean>;
}

/** The files of all threads below `homeDir` (CARIBOU_HOME), owned by the user of commands; uploads within the limits. */
export function userFiles(
  homeDir: string,
  limits?: QuotaLimits,
): UserFiles & { readonly copyAll: NonNullable<UserFiles['copyAll']> } {
  const files = threadFiles(homeDir, commandIdentity());
  const quota = limits === undefined ? undefined : new WorkspaceQuota(files, limits);
  return {
    openIntake: (thread, options) => openUploadIntake({ files, ...omitUndefined({ quota }) }, thread, options),
    list: (thread, directory, maxFiles) => listFiles(files, { thread, directory }, maxFiles),
    copyAll: (thread, to) => copyFiles({ files, ...omitUndefined({ quota }) }, thread, to),
    settle: () => Promise.resolve(),
    open: async (thread, path) => openLocalFile(await files.openFile(thread, path)),
    replaceText: (thread, path, replacement) =>
      replaceText(quota?.guard(files) ?? files, { thread, path }, replacement),
    remove: (thread, path) => removeFile(homeDir, thread, path),
    removeUnchanged: (thread, directory, entry) => removeUnchanged(files, { thread, directory }, entry),
  };
}
