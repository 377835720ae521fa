import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { type CommandIdentity, DATA_DIRECTORIES, type DataDirectory, errnoOf, type ThreadKey } from '@caribou/core';
import { below, giveTo, openDirectory } from '../descriptor-walk.js';
import { type Entry, entriesBelow, type WalkBudget, walkBudget } from '../lookup/directory-entries.js';
import { FileRefusedError, QuotaExceededError, toFileRefused } from '../file-refused.js';
import { DIRECTORY_MODE, NEW_FILE, TEMPORARY_MODE } from '../thread-path.js';
import { type IntakeParts, isPartName } from './upload-intake.js';

/** Limits of one copy: entries, and time in milliseconds. */
const LIMITS = { maxEntries: 50_000, maxMs: 30_000 };
const CHUNK_BYTES = 1024 * 1024;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Errors of an entry that a running command changed after it was listed. */
const gone = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'ENXIO', 'ENODEV']);

export interface CopiedFiles {
  readonly files: number;
  /** False when a limit was reached; files copied until then stay. */
  readonly complete: boolean;
}

interface DirectoryLocation {
  readonly thread: ThreadKey;
  readonly directory: DataDirectory;
}

/**
 * Copies the regular files of a thread to one without files, each opened through the descriptor of its directory and
 * checked after that: only regular files with a single name are copied. The quota is checked before each file.
 *
 * @throws {FileRefusedError} when the directories cannot be made or read
 */
export async function copyFiles(parts: IntakeParts, from: ThreadKey, to: ThreadKey): Promise<CopiedFiles> {
  const budget = walkBudget(LIMITS);
  let files = 0;
  try {
    await parts.files.prepare(to);
    for (const directory of DATA_DIRECTORIES) {
      const target = { thread: to, directory };
      for await (const entry of entriesOf(parts, { thread: from, directory }, budget)) {
        if (performance.now() > budget.endsAtMs) return { files, complete: false };
        if (await copyEntry(parts, entry, target)) files += 1;
      }
    }
  } catch (error) {
    if (error instanceof QuotaExceededError) return { files, complete: false };
    throw toFileRefused(error, 'user-data');
  }
  return { files, complete: !budget.exhausted };
}

async function* entriesOf({ files }: IntakeParts, { thread, directory }: DirectoryLocation, budget: WalkBudget) {
  let opened: FileHandle;
  try {
    opened = await files.openDataDirectory(thread, directory);
  } catch (error) {
    if (error instanceof FileRefusedError && error.reason === 'not_found') return;
    throw error;
  }
  try {
    yield* entriesBelow(opened, { budget, all: true });
  } finally {
    await opened.close();
  }
}

/** Whether the entry was a file and is copied. */
async function copyEntry(parts: IntakeParts, entry: Entry, { thread, directory }: DirectoryLocation): Promise<boolean> {
  const { files, quota } = parts;
  if (entry.kind === 'other' || isPartName(entry.names.at(-1) ?? '')) return false;
  const names = entry.kind === 'directory' ? entry.names : entry.names.slice(0, -1);
  const owner = await files.ownerOf(thread);
  const parent = await openDirectory(files.hostPath(thread, directory), names, { owner, mode: DIRECTORY_MODE });
  try {
    if (entry.kind === 'directory') return false;
    const name = entry.names.at(-1) ?? '';
    const source = await openIfStill(entry.parent, name);
    if (source === undefined) return false;
    try {
      const { size, mode } = await source.stat();
      await quota?.requireRoom(thread, [directory, ...entry.names].join('/'), size);
      await copyContent(source, { path: below(parent, name), size, mode: mode & 0o777, owner });
      quota?.onFileAdded(thread, size);
      return true;
    } finally {
      await source.close();
    }
  } finally {
    await parent.close();
  }
}

async function openIfStill(parent: FileHandle, name: string): Promise<FileHandle | undefined> {
  const handle = await open(below(parent, name), READ).catch((error: unknown) => {
    if (gone.has(errnoOf(error) ?? '')) return undefined;
    throw error;
  });
  const stat = await handle?.stat();
  if (stat?.isFile() === true && stat.nlink === 1) return handle;
  await handle?.close();
  return undefined;
}

interface Target {
  readonly path: string;
  /** Bytes copied at most: the source may grow meanwhile. */
  readonly size: number;
  readonly mode: number;
  readonly owner: CommandIdentity;
}

async function copyContent(source: FileHandle, { path, size, mode, owner }: Target): Promise<void> {
  const target = await open(path, NEW_FILE, TEMPORARY_MODE);
  try {
    const buffer = Buffer.alloc(Math.min(size, CHUNK_BYTES));
    for (let at = 0; at < size; ) {
      const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, size - at), at);
      if (bytesRead === 0) break;
      await target.writeFile(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
    await giveTo(target, owner);
    await target.chmod(mode);
  } finally {
    await target.close();
  }
}
