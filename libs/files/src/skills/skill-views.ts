import { createHash, randomUUID } from 'node:crypto';
import { chmod, copyFile, link, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UnavailableError } from '@caribou/contracts';
import { LRUCache } from 'lru-cache';
import { errnoOf, type SkillsMount } from '@caribou/core';
import { removeOld } from './skill-files.js';
import {
  DATA_MODE,
  makeDirectory,
  prepareSkillDirectory,
  PROGRAM_MODE,
  PUBLIC_DIRECTORY_MODE,
  skillDirectory,
} from './skill-directories.js';

/** A skill to be seen in a sandbox. */
export interface SkillPackage {
  /** Names of its directory below the mount. */
  readonly place: readonly string[];
  readonly source:
    | { readonly kind: 'folder'; readonly directory: string; readonly fingerprint: string }
    /** On the data volume, or a copy on this machine's disk. */
    | { readonly kind: 'installed' | 'fetched'; readonly id: string }
    | { readonly kind: 'absent'; readonly id: string; readonly absence: SkillAbsence };
}

/** Why the files of an installed skill are not on this machine. */
export type SkillAbsence = 'away' | 'damaged' | 'no_space' | 'not_imported';

const absences: Readonly<Record<SkillAbsence, string>> = {
  away: 'Its files cannot be read from the object store at present, or are still being copied. It is tried again whenever this sandbox is used.',
  damaged:
    'Its files in the object store are missing or damaged. An operator must restore them, or the skill must be removed and installed again.',
  no_space: 'The disk of this machine is full. It is tried again whenever this sandbox is used.',
  not_imported:
    'Its files are on the disk of another machine, which has not brought them into the object store yet. It is tried again whenever this sandbox is used.',
};

/** The only file in the directory of a skill that is absent. */
const NOTE_FILE = 'UNAVAILABLE.md';

/** A view that was not requested for this long is removed when the next one is made: longer than any command may run. */
export const UNUSED_VIEW_MS = 2 * 3_600_000;
const TOUCH_MS = 600_000;
const MAX_TOUCHED = 1_000;
const RUNNABLE = 0o100;

/**
 * Directories that hold a user's skills as they are switched on, one per set of skills. A view never changes once it
 * can be seen, so what is mounted stays whole until its sandbox gets another. Skills that users installed are linked,
 * as their files never change; those of a folder are copied, which also brings them to the volume that engines mount
 * from.
 */
export class SkillViews {
  private readonly making = new Map<string, Promise<void>>();
  /** When each view was last marked as used. */
  private readonly touched = new LRUCache<string, number>({ max: MAX_TOUCHED });

  constructor(private readonly homeDir: string) {}

  /** The view of exactly these skills. @throws {UnavailableError} when it cannot be made */
  async mount(userId: string, packages: readonly SkillPackage[]): Promise<SkillsMount> {
    const directory = join(skillDirectory(this.homeDir, userId, 'views'), versionOf(packages));
    try {
      const found = await instanceOf(directory);
      if (found === null) await this.makeOnce(userId, directory, packages);
      const instance = found ?? (await instanceOf(directory)) ?? '';
      await this.touch(directory);
      return { directory, instance };
    } catch (error) {
      const message = `the view of the user's skills cannot be created (${errnoOf(error) ?? 'unknown'})`;
      throw new UnavailableError(message, { cause: error, details: { dependency: 'disk' } });
    }
  }

  /** Makes a view once per process at a time; of several processes the first one's view counts. */
  private async makeOnce(userId: string, directory: string, packages: readonly SkillPackage[]): Promise<void> {
    const making = this.making.get(directory) ?? this.make(userId, directory, packages);
    this.making.set(directory, making);
    await making.finally(() => this.making.delete(directory));
  }

  private async make(userId: string, directory: string, packages: readonly SkillPackage[]): Promise<void> {
    const views = await prepareSkillDirectory(this.homeDir, userId, 'views');
    const part = join(views, `.${randomUUID()}`);
    try {
      await makeDirectory(part, PUBLIC_DIRECTORY_MODE);
      for (const { place, source } of packages) await this.lay(userId, source, await directoryAt(part, place));
      await rename(part, directory);
    } catch (error) {
      await rm(part, { recursive: true, force: true });
      if (!['EEXIST', 'ENOTEMPTY'].includes(errnoOf(error) ?? '')) throw error;
    }
    await removeOld(views, new Set([directory.slice(views.length + 1)]), UNUSED_VIEW_MS);
  }

  private async lay(userId: string, source: SkillPackage['source'], target: string): Promise<void> {
    if (source.kind === 'folder') return layTree(source.directory, target, copyPlain);
    if (source.kind === 'absent') return writeNote(target, absences[source.absence]);
    const files = join(skillDirectory(this.homeDir, userId, source.kind), source.id);
    return layTree(files, target, linkOrCopy);
  }

  private async touch(directory: string): Promise<void> {
    const nowMs = Date.now();
    if (nowMs - (this.touched.get(directory) ?? 0) < TOUCH_MS) return;
    await utimes(directory, nowMs / 1_000, nowMs / 1_000);
    this.touched.set(directory, nowMs);
  }
}

const versionOf = (packages: readonly SkillPackage[]): string => {
  const parts = packages.map(({ place, source }) => [place, contentOf(source)]);
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
};

function contentOf(source: SkillPackage['source']): string {
  if (source.kind === 'folder') return source.fingerprint;
  return source.kind === 'absent' ? `${source.absence}:${source.id}` : source.id;
}

async function writeNote(target: string, text: string): Promise<void> {
  const path = join(target, NOTE_FILE);
  await writeFile(path, `This skill cannot be used now. ${text}\n`);
  await chmod(path, DATA_MODE);
}

/** Identifies a directory; null for one that does not exist. */
async function instanceOf(directory: string): Promise<string | null> {
  const found = await unlessGone(stat(directory, { bigint: true }));
  return found === null ? null : [found.dev, found.ino, found.birthtimeNs].join('-');
}

async function unlessGone<T>(act: Promise<T>): Promise<T | null> {
  try {
    return await act;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    throw error;
  }
}

async function directoryAt(root: string, names: readonly string[]): Promise<string> {
  let path = root;
  for (const name of names) {
    path = join(path, name);
    await makeDirectory(path, PUBLIC_DIRECTORY_MODE);
  }
  return path;
}

/** Copies plain files and directories; links, other entries, and those that disappear meanwhile are skipped. */
async function layTree(
  source: string,
  target: string,
  lay: (from: string, to: string) => Promise<void>,
): Promise<void> {
  const entries = (await unlessGone(readdir(source, { withFileTypes: true }))) ?? [];
  for (const entry of entries) {
    const [from, to] = [join(source, entry.name), join(target, entry.name)];
    if (entry.isFile()) await unlessGone(lay(from, to));
    if (!entry.isDirectory()) continue;
    await makeDirectory(to, PUBLIC_DIRECTORY_MODE);
    await layTree(from, to, lay);
  }
}

async function copyPlain(from: string, to: string): Promise<void> {
  const { mode } = await stat(from);
  await copyFile(from, to);
  await chmod(to, (mode & RUNNABLE) === 0 ? DATA_MODE : PROGRAM_MODE);
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (!['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP'].includes(errnoOf(error) ?? '')) throw error;
    await copyPlain(from, to);
  }
}
