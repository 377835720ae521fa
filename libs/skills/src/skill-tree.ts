import { createHash } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SkillCategory } from '@caribou/contracts';
import { MAX_SKILL_FILE_BYTES, parseSkillFile, type SkillManifest } from './front-matter.js';
import { SkillRejectedError } from './skill-rejected.js';

/** The file that makes a directory a skill. */
export const SKILL_FILE = 'SKILL.md';
/** What one skill may hold, installed or found. */
export const MAX_SKILL_ENTRIES = 4_096;
export const MAX_SKILL_BYTES = 512 * 1024 * 1024;
/** Directories that are looked into for skills, and how deep they may lie. */
const MAX_DIRECTORIES = 2_000;
const MAX_DEPTH = 8;

/** A skill in a folder of the product or the operator. */
export interface FoundSkill extends SkillManifest {
  readonly category: SkillCategory;
  /** Names of the directories below the category's folder. */
  readonly segments: readonly string[];
  /** Of the machine; absolute. */
  readonly directory: string;
  /** Changes with the files in it. */
  readonly fingerprint: string;
}

/** Told of each skill that is left out, and why. */
export type LeftOut = (directory: string, reason: string) => void;

interface Looking {
  directoriesLeft: number;
  readonly category: SkillCategory;
  readonly leftOut: LeftOut;
}

/**
 * The skills below `<root>/<category>`, directories in order. A directory with a SKILL.md is a skill, and what lies in
 * it belongs to it; hidden directories and links are passed over. None where the folder is not there.
 */
export async function findSkills(
  root: string,
  category: SkillCategory,
  leftOut: LeftOut,
): Promise<readonly FoundSkill[]> {
  const looking: Looking = { directoriesLeft: MAX_DIRECTORIES, category, leftOut };
  return look(join(root, category), [], looking);
}

async function look(directory: string, segments: readonly string[], looking: Looking): Promise<readonly FoundSkill[]> {
  looking.directoriesLeft -= 1;
  const entries = await entriesOf(directory);
  if (entries.some((entry) => entry.name === SKILL_FILE && entry.isFile())) {
    const skill = await readSkill(directory, segments, looking);
    return skill === null ? [] : [skill];
  }
  const found: FoundSkill[] = [];
  for (const { name } of entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))) {
    const inner = join(directory, name);
    if (looking.directoriesLeft === 0 || segments.length === MAX_DEPTH) {
      looking.leftOut(inner, 'there are too many directories, or they are nested too deep');
      break;
    }
    found.push(...(await look(inner, [...segments, name], looking)));
  }
  return found;
}

/** In order of names; nothing for a directory that is not there. */
async function entriesOf(directory: string): Promise<readonly Dirent[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

export const isMissing = (error: unknown): boolean =>
  typeof error === 'object' &&
  error !== null &&
  'code' in error &&
  (error.code === 'ENOENT' || error.code === 'ENOTDIR');

async function readSkill(
  directory: string,
  segments: readonly string[],
  { category, leftOut }: Looking,
): Promise<FoundSkill | null> {
  try {
    if (segments.length === 0) throw new SkillRejectedError(`a skill needs a directory of its own below ${category}`);
    const path = join(directory, SKILL_FILE);
    if ((await lstat(path)).size > MAX_SKILL_FILE_BYTES)
      throw new SkillRejectedError(`SKILL.md has more than ${MAX_SKILL_FILE_BYTES} bytes`);
    const manifest = parseSkillFile(await readFile(path, 'utf8'));
    return { ...manifest, category, segments, directory, fingerprint: await fingerprintOf(directory) };
  } catch (error) {
    if (!(error instanceof SkillRejectedError)) throw error;
    leftOut(directory, error.message);
    return null;
  }
}

/** By names, sizes and times: contents are not read. @throws {SkillRejectedError} for a tree larger than a skill may be */
async function fingerprintOf(directory: string): Promise<string> {
  const hash = createHash('sha256');
  let count = 0;
  let bytes = 0;
  const add = async (above: string): Promise<void> => {
    for (const entry of await entriesOf(join(directory, above))) {
      const path = join(above, entry.name);
      const { size, mtimeMs, mode } = await lstat(join(directory, path));
      count += 1;
      bytes += entry.isFile() ? size : 0;
      if (count > MAX_SKILL_ENTRIES || bytes > MAX_SKILL_BYTES)
        throw new SkillRejectedError(`it has more than ${MAX_SKILL_ENTRIES} files or ${MAX_SKILL_BYTES} bytes`);
      hash.update(JSON.stringify([path, mode, ...(entry.isFile() ? [size, mtimeMs] : [])]));
      if (entry.isDirectory()) await add(path);
    }
  };
  await add('');
  return hash.digest('hex');
}
