import { lstat, opendir, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { type DataDirectory, errnoOf, type ThreadKey } from '@caribou/core';
import { below } from '../descriptor-walk.js';
import { FileRefusedError, toFileRefused } from '../file-refused.js';
import type { ThreadFiles } from '../thread-files.js';
import { withParentDirectory } from '../thread-path.js';
import { type FileEntry, isPartName } from './upload-intake.js';

/** Names read of one directory, however many it has. */
const MAX_NAMES = 20_000;

async function namesIn(directory: FileHandle): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(below(directory, '.'))) {
    if (names.length === MAX_NAMES) break;
    if (!isPartName(name)) names.push(name);
  }
  return names.sort();
}

async function entryOf(directory: FileHandle, name: string): Promise<FileEntry | null> {
  try {
    const stat = await lstat(below(directory, name));
    return stat.isFile() ? { name, sizeBytes: stat.size, modifiedMs: stat.mtimeMs } : null;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    throw error;
  }
}

export interface FileList {
  readonly files: readonly FileEntry[];
  /** Whether there are files that the list does not show. */
  readonly truncated: boolean;
}

/** The regular files of a thread's directory by name, at most `maxFiles`; none of a thread without one. */
export async function listFiles(
  files: ThreadFiles,
  location: { readonly thread: ThreadKey; readonly directory: DataDirectory },
  maxFiles: number,
): Promise<FileList> {
  const found: FileEntry[] = [];
  let opened: FileHandle;
  try {
    opened = await files.openDataDirectory(location.thread, location.directory);
  } catch (error) {
    if (error instanceof FileRefusedError && error.reason === 'not_found') return { files: [], truncated: false };
    throw error;
  }
  try {
    const names = await namesIn(opened);
    for (const name of names) {
      const entry = await entryOf(opened, name);
      if (entry !== null) found.push(entry);
      if (found.length > maxFiles) return { files: found.slice(0, maxFiles), truncated: true };
    }
    return { files: found, truncated: names.length === MAX_NAMES };
  } catch (error) {
    throw toFileRefused(error, location.directory);
  } finally {
    await opened.close();
  }
}

/** Removes a regular file of a thread. @throws {FileRefusedError} when the path names none */
export async function removeFile(homeDir: string, thread: ThreadKey, path: string): Promise<void> {
  await withParentDirectory({ homeDir, thread, path }, async (parent, { name }) => {
    const stat = await lstat(below(parent, name));
    if (!stat.isFile()) throw new FileRefusedError(stat.isDirectory() ? 'is_directory' : 'not_regular', path);
    await unlink(below(parent, name));
  });
}
