import { randomUUID } from 'node:crypto';
import { type FileHandle, lstat, open, readdir, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '@caribou/core';
import { FileRefusedError, toFileRefused } from '../file-refused.js';
import {
  DATA_MODE,
  makeDirectory,
  prepareSkillDirectory,
  PROGRAM_MODE,
  PUBLIC_DIRECTORY_MODE,
  skillDirectory,
} from './skill-directories.js';
import { NEW_FILE, TEMPORARY_MODE } from '../thread-path.js';

/** An unreferenced entry older than this was left by a process that died, in milliseconds. */
const LEFT_MS = 3_600_000;
/** Free disk space is checked again after this many bytes. */
const LOOK_BYTES = 16 * 1024 * 1024;

/** Files of one skill that is being installed, not visible yet. The caller checks the names. */
export interface SkillStaging {
  /** Makes a file and the directories above it. Bytes written. @throws {FileRefusedError} `no_space` */
  write(
    segments: readonly string[],
    content: AsyncIterable<Uint8Array>,
    options: { readonly isProgram: boolean },
  ): Promise<number>;
  /** Moves all files to the installed skills in one step; nothing can be written after that. */
  publish(id: string): Promise<void>;
  /** Removes what was not published. */
  close(): Promise<void>;
}

/** The files of skills that users installed. */
export interface SkillFiles {
  openStaging(userId: string): Promise<SkillStaging>;
  /** Idempotent. */
  remove(userId: string, id: string): Promise<void>;
  /** Removes what processes that died have left: stagings, and installed skills that are not among the known ids. */
  removeLeft(userId: string, knownIds: ReadonlySet<string>): Promise<void>;
}

/**
 * The skills of all users below `homeDir` (CARIBOU_HOME). With less than `minFreeBytes` on the disk nothing is written.
 */
export function skillFiles(homeDir: string, { minFreeBytes }: { readonly minFreeBytes: number }): SkillFiles {
  return {
    openStaging: async (userId) => {
      const root = join(await prepareSkillDirectory(homeDir, userId, 'staging'), randomUUID());
      await makeDirectory(root, PUBLIC_DIRECTORY_MODE);
      return stagingAt(root, { homeDir, userId, minFreeBytes });
    },
    remove: (userId, id) =>
      rm(join(skillDirectory(homeDir, userId, 'installed'), id), { recursive: true, force: true }),
    removeLeft: async (userId, knownIds) => {
      await removeOld(skillDirectory(homeDir, userId, 'staging'), new Set());
      await removeOld(skillDirectory(homeDir, userId, 'installed'), knownIds);
    },
  };
}

interface StagingOptions {
  readonly homeDir: string;
  readonly userId: string;
  readonly minFreeBytes: number;
}

function stagingAt(root: string, { homeDir, userId, minFreeBytes }: StagingOptions): SkillStaging {
  let unseenBytes = LOOK_BYTES;
  const requireRoom = async (bytes: number): Promise<void> => {
    unseenBytes += bytes;
    if (unseenBytes < LOOK_BYTES) return;
    unseenBytes = 0;
    const { bavail, bsize } = await statfs(root);
    if (bavail * bsize < minFreeBytes) throw new FileRefusedError('no_space', 'the skill');
  };
  return {
    write: async (segments, content, { isProgram }) => {
      try {
        const handle = await newFile(root, segments);
        try {
          const written = await writeAll(handle, content, requireRoom);
          await handle.chmod(isProgram ? PROGRAM_MODE : DATA_MODE);
          return written;
        } finally {
          await handle.close();
        }
      } catch (error) {
        throw toFileRefused(error, 'the skill');
      }
    },
    publish: async (id) => rename(root, join(await prepareSkillDirectory(homeDir, userId, 'installed'), id)),
    close: () => rm(root, { recursive: true, force: true }),
  };
}

async function newFile(root: string, segments: readonly string[]): Promise<FileHandle> {
  let above = root;
  for (const name of segments.slice(0, -1)) {
    above = join(above, name);
    await makeDirectory(above, PUBLIC_DIRECTORY_MODE);
  }
  return open(join(above, segments.at(-1) ?? ''), NEW_FILE, TEMPORARY_MODE);
}

async function writeAll(
  handle: FileHandle,
  content: AsyncIterable<Uint8Array>,
  requireRoom: (bytes: number) => Promise<void>,
): Promise<number> {
  let written = 0;
  for await (const chunk of content) {
    await requireRoom(chunk.byteLength);
    await handle.writeFile(chunk);
    written += chunk.byteLength;
  }
  return written;
}

/** Removes directories that were not touched for long, except the known ones. */
export async function removeOld(directory: string, known: ReadonlySet<string>, oldMs = LEFT_MS): Promise<void> {
  const before = Date.now() - oldMs;
  for (const name of await namesIn(directory)) {
    if (known.has(name)) continue;
    const path = join(directory, name);
    const stat = await lstat(path).catch(nullIfGone);
    if (stat !== null && stat.mtimeMs < before) await rm(path, { recursive: true, force: true });
  }
}

const namesIn = (directory: string): Promise<readonly string[]> =>
  readdir(directory).catch((error: unknown) => nullIfGone(error) ?? []);

function nullIfGone(error: unknown): null {
  if (errnoOf(error) === 'ENOENT') return null;
  throw error;
}
