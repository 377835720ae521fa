import { lstat, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { InstalledSkill } from '@caribou/contracts';
import { errnoOf, type OpenFile } from '@caribou/core';
import { openLocalFile } from '../open-file.js';
import { skillDirectory } from './skill-directories.js';
import { StagingDirectory } from './skill-staging.js';

/** An unreferenced entry older than this was left by a process that died, in milliseconds. */
const LEFT_MS = 3_600_000;

/** Files of one skill that is being installed, not visible yet. The caller checks the names. */
export interface SkillStaging {
  /** Makes a file and the directories above it. Bytes written. @throws {FileRefusedError} `no_space` */
  write(
    segments: readonly string[],
    content: AsyncIterable<Uint8Array>,
    options: { readonly isProgram: boolean },
  ): Promise<number>;
  /**
   * Brings all files to where installed skills are, all at once; nothing can be written after that. The result belongs into the
   * skill's record.
   *
   * @throws {UnavailableError} when the object store is away
   */
  publish(id: string): Promise<Pick<InstalledSkill, 'manifest'>>;
  /** Removes what was not published. */
  close(): Promise<void>;
}

/** The files of skills that users installed. */
export interface SkillFiles {
  /**
   * Stores an archive that is being received, outside of all threads; closing it removes it.
   *
   * @throws {FileRefusedError} `no_space`
   */
  receive(userId: string, content: AsyncIterable<Uint8Array>): Promise<OpenFile>;
  openStaging(userId: string): Promise<SkillStaging>;
  /** Idempotent. */
  remove(userId: string, id: string): Promise<void>;
  /** Removes what processes that died have left: stagings, and installed skills that are not among the known ids. */
  removeLeft(userId: string, knownIds: ReadonlySet<string>): Promise<void>;
  /**
   * Begins to bring skills that are only on this machine's disk into the object store, in the background. Absent when all machines
   * share one data volume.
   */
  importSkills?(userId: string, installed: readonly InstalledSkill[]): void;
}

/**
 * The skills of all users below `homeDir` (CARIBOU_HOME). With less than `minFreeBytes` on the disk nothing is written.
 */
export function skillFiles(homeDir: string, { minFreeBytes }: { readonly minFreeBytes: number }): SkillFiles {
  return {
    receive: async (userId, content) => {
      const staging = await StagingDirectory.open(homeDir, userId, minFreeBytes);
      try {
        return await receiveInto(staging, content);
      } catch (error) {
        await staging.close();
        throw error;
      }
    },
    openStaging: async (userId) => {
      const staging = await StagingDirectory.open(homeDir, userId, minFreeBytes);
      return {
        write: (segments, content, { isProgram }) => staging.write(segments, content, { isProgram }),
        publish: async (id) => {
          await staging.moveTo('installed', id);
          return {};
        },
        close: () => staging.close(),
      };
    },
    remove: async (userId, id) => {
      for (const kind of ['installed', 'fetched'] as const)
        await rm(join(skillDirectory(homeDir, userId, kind), id), { recursive: true, force: true });
    },
    removeLeft: async (userId, knownIds) => {
      await removeOld(skillDirectory(homeDir, userId, 'staging'), new Set());
      await removeOld(skillDirectory(homeDir, userId, 'installed'), knownIds);
    },
  };
}

const ARCHIVE = 'archive';

async function receiveInto(staging: StagingDirectory, content: AsyncIterable<Uint8Array>): Promise<OpenFile> {
  await staging.write([ARCHIVE], content, { isProgram: false });
  const file = await openLocalFile(await open(join(staging.path, ARCHIVE)));
  const close = async (): Promise<void> => {
    await file.close();
    await staging.close();
  };
  return { ...file, close };
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
