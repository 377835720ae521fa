import { randomUUID } from 'node:crypto';
import { type FileHandle, link, lstat, open, opendir, rename, stat, unlink } from 'node:fs/promises';
import { errnoOf, type ThreadKey } from '@caribou/core';
import { below, giveTo } from '../descriptor-walk.js';
import { FileRefusedError, toFileRefused } from '../file-refused.js';
import { MAX_FILE_BYTES, type ThreadFiles } from '../thread-files.js';
import { FILE_MODE, NEW_FILE, TEMPORARY_MODE } from '../thread-path.js';
import type { WorkspaceQuota } from '../quota/workspace-quota.js';

const PART_PREFIX = '.upload-';
const PART_SUFFIX = '.part';
/** A part this old was left by a killed process: no request lasts so long. */
const STALE_MS = 3_600_000;
/** The number of names checked for stale parts when an intake opens. */
const MAX_SWEPT = 10_000;

/** Whether a name is that of a file still being received. */
export const isPartName = (name: string): boolean => name.startsWith(PART_PREFIX) && name.endsWith(PART_SUFFIX);

/** A file of a thread as lists show it. */
export interface FileEntry {
  readonly name: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
}

/** A received file that is not visible yet. */
export interface StagedFile {
  readonly sizeBytes: number;
  /** Stays the same when it is published. */
  readonly modifiedMs: number;
  /** Gives the file its name in uploads, in place of a file that has it. @throws {FileRefusedError} */
  publish(name: string): Promise<FileEntry>;
  /** Gives the file its name in uploads, or null when anything has that name. @throws {FileRefusedError} */
  publishNew(name: string): Promise<FileEntry | null>;
}

/** Takes the files of one request: all are received first, then all are published, or none is. */
export interface UploadIntake {
  /**
   * Writes a stream to disk as it arrives. Errors of the stream are rethrown, and the part is removed.
   *
   * @throws {FileRefusedError} `too_large` over `maxBytes`, `no_space` on a full disk
   */
  receive(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<StagedFile>;
  /** Whether published files are still in the thread's uploads: false once the thread was deleted. */
  isCurrent(): Promise<boolean>;
  /** Removes files that were received and not published. */
  close(): Promise<void>;
}

interface Part {
  readonly path: string;
  readonly handle: FileHandle;
}

/** @throws {FileRefusedError} when the name belongs to a directory or anything else but a regular file */
async function requireReplaceable(directory: FileHandle, name: string): Promise<void> {
  try {
    const stat = await lstat(below(directory, name));
    if (!stat.isFile()) throw new FileRefusedError(stat.isDirectory() ? 'is_directory' : 'not_regular', name);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

/** A name that no list shows; a file that a killed process leaves under such a name is removed after an hour. */
export const newPartName = (): string => `${PART_PREFIX}${randomUUID()}${PART_SUFFIX}`;

export async function removeIfThere(path: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (errnoOf(error) !== 'ENOENT') throw error;
  });
}

/** Calls `requireRoom` with all bytes so far before the next are written. */
async function writeAll(
  handle: FileHandle,
  source: AsyncIterable<Uint8Array>,
  { maxBytes, requireRoom }: { readonly maxBytes: number; readonly requireRoom: (bytes: number) => Promise<void> },
): Promise<number> {
  let written = 0;
  for await (const chunk of source) {
    written += chunk.byteLength;
    if (written > Math.min(maxBytes, MAX_FILE_BYTES)) throw new FileRefusedError('too_large', 'the file');
    await requireRoom(written);
    await handle.writeFile(chunk);
  }
  return written;
}

async function removeStale(directory: FileHandle): Promise<void> {
  const before = Date.now() - STALE_MS;
  let seen = 0;
  for await (const { name } of await opendir(below(directory, '.'))) {
    seen += 1;
    if (seen > MAX_SWEPT) return;
    if (!isPartName(name)) continue;
    const stat = await lstat(below(directory, name)).catch((error: unknown) => {
      if (errnoOf(error) !== 'ENOENT') throw error;
      return null;
    });
    if (stat !== null && !stat.isDirectory() && stat.mtimeMs < before) await removeIfThere(below(directory, name));
  }
}

/** The name leads to the part only by the directory's own entry: a command that replaces it replaces its own file. */
async function publishPart(directory: FileHandle, { path, handle }: Part, name: string): Promise<FileEntry> {
  try {
    await requireReplaceable(directory, name);
    await handle.chmod(FILE_MODE);
    await rename(path, below(directory, name));
    const { size, mtimeMs } = await handle.stat();
    return { name, sizeBytes: size, modifiedMs: mtimeMs };
  } catch (error) {
    throw toFileRefused(error, name);
  }
}

/** Publishes by a link, as a rename would replace an existing file of the name. */
async function publishPartAsNew(directory: FileHandle, part: Part, name: string): Promise<FileEntry | null> {
  try {
    await part.handle.chmod(FILE_MODE);
    await link(part.path, below(directory, name));
    await removeIfThere(part.path);
    const { size, mtimeMs } = await part.handle.stat();
    return { name, sizeBytes: size, modifiedMs: mtimeMs };
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return null;
    throw toFileRefused(error, name);
  }
}

export interface IntakeParts {
  readonly files: ThreadFiles;
  readonly quota?: WorkspaceQuota;
}

export interface IntakeOptions {
  /**
   * Default true: creates the thread's directories. False for a companion of an existing file: refused without them.
   */
  readonly makes?: boolean;
}

/** An intake into the uploads of a thread; close it whatever happens. */
export async function openUploadIntake(
  { files, quota }: IntakeParts,
  thread: ThreadKey,
  { makes = true }: IntakeOptions = {},
): Promise<UploadIntake> {
  if (makes)
    await files.prepare(thread).catch((error: unknown) => {
      throw toFileRefused(error, 'uploads');
    });
  const directory = await files.openDataDirectory(thread, 'uploads');
  const parts = new Set<Part>();
  const discard = async (part: Part): Promise<void> => {
    parts.delete(part);
    await part.handle.close();
    await removeIfThere(part.path);
  };
  await removeStale(directory);
  // Commands write at the same time, so only a fresh figure counts.
  await quota?.measure(thread);
  return {
    async receive(source, maxBytes) {
      try {
        const requireRoom = async (bytes: number): Promise<void> => quota?.requireRoom(thread, 'uploads', bytes);
        await requireRoom(0);
        const path = below(directory, newPartName());
        const part = { path, handle: await open(path, NEW_FILE, TEMPORARY_MODE) };
        parts.add(part);
        await giveTo(part.handle, await files.ownerOf(thread));
        const sizeBytes = await writeAll(part.handle, source, { maxBytes, requireRoom });
        quota?.onFileAdded(thread, sizeBytes);
        const { mtimeMs } = await part.handle.stat();
        return {
          sizeBytes,
          modifiedMs: mtimeMs,
          publish: (name) => publishPart(directory, part, name),
          publishNew: (name) => publishPartAsNew(directory, part, name),
        };
      } catch (error) {
        throw toFileRefused(error, 'uploads');
      }
    },
    async isCurrent() {
      const [ours, there] = await Promise.all([
        directory.stat(),
        stat(files.hostPath(thread, 'uploads')).catch((error: unknown) => {
          if (errnoOf(error) !== 'ENOENT') throw error;
          return null;
        }),
      ]);
      return there !== null && there.dev === ours.dev && there.ino === ours.ino;
    },
    async close() {
      for (const part of parts) await discard(part);
      await directory.close();
    },
  };
}
