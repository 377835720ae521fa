import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { ThreadId, UserId } from '@caribou/contracts';
import {
  type CommandIdentity,
  type DataDirectory,
  parseVirtualPath,
  type ThreadKey,
  type VirtualPath,
} from '@caribou/core';
import { openDirectory } from './descriptor-walk.js';
import { FileRefusedError, toFileRefused } from './file-refused.js';

export const DIRECTORY_MODE = 0o755;
export const FILE_MODE = 0o644;
/** The mode of a file while it is written, before it is renamed over its target. */
export const TEMPORARY_MODE = 0o600;
/** Flags for a new file: the open fails when the name exists, as a link too. */
export const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Names of a thread's folder below CARIBOU_HOME. @throws when an id is not of the strict pattern */
export const threadNames = ({ userId, threadId }: ThreadKey): readonly string[] => [
  'users',
  UserId.parse(userId),
  'threads',
  ThreadId.parse(threadId),
];

/** Host path of one of a thread's three directories. */
export const hostPathOf = (homeDir: string, thread: ThreadKey, directory: DataDirectory): string =>
  join(homeDir, ...threadNames(thread), 'user-data', directory);

/** The directory above a path's last name, and that name. */
export interface FileLocation {
  readonly parents: readonly string[];
  readonly name: string;
}

function parsePath(path: string): VirtualPath & FileLocation {
  const parsed = parseVirtualPath(path);
  if (parsed === null) throw new FileRefusedError('outside', path);
  const name = parsed.segments.at(-1);
  if (name === undefined) throw new FileRefusedError('is_directory', path);
  return { ...parsed, parents: parsed.segments.slice(0, -1), name };
}

export interface PathOptions {
  readonly homeDir: string;
  readonly thread: ThreadKey;
  readonly path: string;
  /** Makes missing directories above the name, owned by this user. */
  readonly createFor?: CommandIdentity;
}

/**
 * Runs `act` on the open directory of the path's last name.
 *
 * @throws {FileRefusedError} naming the virtual path
 */
export async function withParentDirectory<T>(
  { homeDir, thread, path, createFor }: PathOptions,
  act: (parent: FileHandle, location: FileLocation) => Promise<T>,
): Promise<T> {
  const location = parsePath(path);
  const create = createFor === undefined ? undefined : { owner: createFor, mode: DIRECTORY_MODE };
  try {
    const parent = await openDirectory(hostPathOf(homeDir, thread, location.directory), location.parents, create);
    try {
      return await act(parent, location);
    } finally {
      await parent.close();
    }
  } catch (error) {
    throw toFileRefused(error, path);
  }
}

/**
 * Closes the handle and refuses unless it is a regular file, with a single name unless it may have several.
 *
 * @throws {FileRefusedError}
 */
export async function requireRegular(
  handle: FileHandle,
  path: string,
  { mayBeLinked }: { readonly mayBeLinked: boolean } = { mayBeLinked: false },
): Promise<FileHandle> {
  const stat = await handle.stat();
  if (stat.isFile() && (mayBeLinked || stat.nlink === 1)) return handle;
  await handle.close();
  throw new FileRefusedError(stat.isDirectory() ? 'is_directory' : 'not_regular', path);
}
