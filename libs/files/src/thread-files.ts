import { omitUndefined } from '@caribou/contracts';
import { randomUUID } from 'node:crypto';
import { constants, fstatSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import {
  closedDirectoryOf,
  type CommandIdentity,
  DATA_DIRECTORIES,
  type DataDirectory,
  errnoOf,
  type ThreadKey,
} from '@caribou/core';
import { prepareHome } from './data-home.js';
import { below, giveTo, openDirectory } from './descriptor-walk.js';
import { FileRefusedError, toFileRefused } from './file-refused.js';
import { giveTree } from './ownership/give-tree.js';
import { DATA, threadOwner } from './thread-owner.js';
import { openResolved, resolvePath, type ResolvedPath, type ReadRoots } from './resolved-path.js';
import {
  DIRECTORY_MODE,
  FILE_MODE,
  hostPathOf,
  NEW_FILE,
  type FileLocation,
  requireRegular,
  TEMPORARY_MODE,
  threadNames,
  withParentDirectory,
} from './thread-path.js';

/**
 * The one module for access to users' files from outside a sandbox. A command inside may rename, link and replace
 * anything below the three directories at any moment, so:
 *
 *  F1  every name is opened through the descriptor of its directory, links refused; no path is checked and then used
 *  F2  nothing but a regular file with a single name is read or appended to, decided by fstat after the open; files of
 *      skills may have several, as no sandbox can write where they lie
 *  F3  a file is replaced by rename within its directory, so a reader sees the old or the new content, never a part
 *  F4  every read and write has a size limit
 *  F5  a created file belongs to the user of commands and is never setuid
 *
 * Directories above the three are the platform's own: no sandbox can reach them.
 */

/** Largest file that an append may grow, in bytes. */
export const MAX_FILE_BYTES = 512 * 1024 * 1024;
const PRIVATE_MODE = 0o700;

/** What the file system says of a file; times in milliseconds. */
export type WrittenFile = Pick<Stats, 'ino' | 'size' | 'mtimeMs'>;

export interface ThreadFiles {
  /**
   * Makes the three directories, owned by the user of the thread's commands. With `owner`, that is him from then on, and
   * he gets all files of the thread. Idempotent.
   */
  prepare(thread: ThreadKey, owner?: CommandIdentity): Promise<void>;
  /** The user of the thread's commands, whom its files belong to. */
  ownerOf(thread: ThreadKey): Promise<CommandIdentity>;
  /** Host path of a directory, to be mounted; never to be opened by name. */
  hostPath(thread: ThreadKey, directory: DataDirectory): string;
  /** A descriptor of the directory itself; the caller closes it. @throws {FileRefusedError} */
  openDataDirectory(thread: ThreadKey, directory: DataDirectory): Promise<FileHandle>;
  /** Resolves a path to something that may be read. @throws {FileRefusedError} `outside` */
  resolvePath(thread: ThreadKey, path: string): ResolvedPath;
  /** A readable descriptor of a regular file, of a skill too; the caller closes it. @throws {FileRefusedError} */
  openFile(thread: ThreadKey, path: string): Promise<FileHandle>;
  /**
   * Replaces a file whole, or creates it and the directories above it.
   *
   * @param onWritten called with the new file, which has all bytes, right before it gets the path
   * @returns bytes written
   * @throws {FileRefusedError}
   */
  replace(
    thread: ThreadKey,
    path: string,
    content: Uint8Array,
    onWritten?: (file: WrittenFile) => void,
  ): Promise<number>;
  /** Adds to the end of a file, or creates it. Bytes added. @throws {FileRefusedError} */
  append(thread: ThreadKey, path: string, content: Uint8Array): Promise<number>;
}

/** Returns the permission bits that a replacement inherits. @throws FileRefusedError for anything but a file */
async function modeToKeep(directory: FileHandle, location: FileLocation, path: string): Promise<number> {
  try {
    const stat = await lstat(below(directory, location.name));
    if (stat.isDirectory()) throw new FileRefusedError('is_directory', path);
    if (!stat.isFile()) throw new FileRefusedError('not_regular', path);
    return stat.mode & 0o777;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return FILE_MODE;
    throw error;
  }
}

/** Writes to a new file in the same directory and renames it over the target; removes it on failure (F3, F5). */
async function replaceIn(
  directory: FileHandle,
  location: FileLocation,
  file: {
    content: Uint8Array;
    mode: number;
    owner: CommandIdentity;
    requireMayWrite: () => void;
    onWritten: ((file: WrittenFile) => void) | undefined;
  },
): Promise<void> {
  const temporary = below(directory, `.caribou-${randomUUID()}`);
  const handle = await open(temporary, NEW_FILE, TEMPORARY_MODE);
  try {
    await handle.writeFile(file.content);
    await giveTo(handle, file.owner);
    await handle.chmod(file.mode);
    file.onWritten?.(fstatSync(handle.fd));
    file.requireMayWrite();
    await rename(temporary, below(directory, location.name));
  } catch (error) {
    await unlink(temporary).catch((late: unknown) => {
      if (errnoOf(late) !== 'ENOENT') throw late;
    });
    throw error;
  } finally {
    await handle.close();
  }
}

async function openForAppend(
  directory: FileHandle,
  location: FileLocation,
  owner: CommandIdentity,
): Promise<FileHandle> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  try {
    const made = await open(below(directory, location.name), flags | constants.O_CREAT | constants.O_EXCL, FILE_MODE);
    await giveTo(made, owner);
    return made;
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
    return open(below(directory, location.name), flags);
  }
}

interface Addition {
  readonly content: Uint8Array;
  readonly path: string;
  readonly requireMayWrite: () => void;
}

async function appendTo(handle: FileHandle, { content, path, requireMayWrite }: Addition): Promise<void> {
  const { size } = await handle.stat();
  if (size + content.byteLength > MAX_FILE_BYTES) throw new FileRefusedError('too_large', path);
  requireMayWrite();
  await handle.appendFile(content);
}

/** Makes the platform's directories above a thread's data, closed to others, and the data's own. */
async function prepareThread(homeDir: string, names: readonly string[], owner: CommandIdentity): Promise<void> {
  prepareHome(homeDir);
  const above = await openDirectory(homeDir, names, closedDirectoryOf(owner));
  await above.close();
  const data = await openDirectory(join(homeDir, ...names), [DATA], { owner, mode: PRIVATE_MODE });
  await data.close();
  for (const directory of DATA_DIRECTORIES) {
    const made = await openDirectory(join(homeDir, ...names, DATA), [directory], {
      owner,
      mode: DIRECTORY_MODE,
    });
    await made.close();
  }
}

const openFileAt = async (roots: ReadRoots, thread: ThreadKey, path: string): Promise<FileHandle> =>
  openResolved(resolvePath(roots, thread, path), path);

export interface ThreadFilesOptions {
  readonly skills?: ReadRoots['skills'];
  /** Called right before a file changes; when it throws, the file stays as it is. */
  readonly requireMayWrite?: () => void;
}

/**
 * Access to the files of all threads below `homeDir` (CARIBOU_HOME), and with `skills` to those of their users' skills.
 * New threads belong to `commands`.
 */
export function threadFiles(
  homeDir: string,
  commands: CommandIdentity,
  { skills, requireMayWrite = () => undefined }: ThreadFilesOptions = {},
): ThreadFiles {
  const roots: ReadRoots = { homeDir, ...omitUndefined({ skills }) };
  const hostPath = (thread: ThreadKey, directory: DataDirectory): string => hostPathOf(homeDir, thread, directory);
  const ownerOf = (thread: ThreadKey): Promise<CommandIdentity> => threadOwner(homeDir, thread, commands);
  const within = async <T>(
    thread: ThreadKey,
    path: string,
    act: (parent: FileHandle, location: FileLocation, owner: CommandIdentity) => Promise<T>,
  ): Promise<T> => {
    const owner = await ownerOf(thread);
    return withParentDirectory({ homeDir, thread, path, createFor: owner }, (parent, location) =>
      act(parent, location, owner),
    );
  };

  return {
    prepare: async (thread, newOwner) => {
      const present = await ownerOf(thread);
      await prepareThread(homeDir, threadNames(thread), present);
      if (newOwner !== undefined && newOwner.uid !== present.uid && process.getuid?.() === 0)
        await giveTree(join(homeDir, ...threadNames(thread), DATA), newOwner);
    },
    ownerOf,
    hostPath,
    openDataDirectory: (thread, directory) =>
      openDirectory(hostPath(thread, directory), []).catch((error: unknown) => {
        throw toFileRefused(error, directory);
      }),
    resolvePath: (thread, path) => resolvePath(roots, thread, path),
    openFile: (thread, path) =>
      openFileAt(roots, thread, path).catch((error: unknown) => {
        throw toFileRefused(error, path);
      }),
    replace: (thread, path, content, onWritten) =>
      within(thread, path, async (parent, location, owner) => {
        if (content.byteLength > MAX_FILE_BYTES) throw new FileRefusedError('too_large', path);
        const mode = await modeToKeep(parent, location, path);
        await replaceIn(parent, location, { content, mode, owner, requireMayWrite, onWritten });
        return content.byteLength;
      }),
    append: (thread, path, content) =>
      within(thread, path, async (parent, location, owner) => {
        const handle = await requireRegular(await openForAppend(parent, location, owner), path);
        try {
          await appendTo(handle, { content, path, requireMayWrite });
        } finally {
          await handle.close();
        }
        return content.byteLength;
      }),
  };
}
