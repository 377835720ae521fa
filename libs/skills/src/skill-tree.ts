import { createHash } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SkillCategory } from '@caribou/contracts';
import { MAX_SKILL_FILE_BYTES, parseSkillFile, type SkillManifest } from './front-matter.js';
import { SkillRejectedError } from './skill-rejected.js';

/** A directory with this file is a skill. */
export const SKILL_FILE = 'SKILL.md';
/** Limits of one skill, installed or in a folder. */
export const MAX_SKILL_ENTRIES = 4_096;
export const MAX_SKILL_BYTES = 512 * 1024 * 1024;
/** Limits of the search for skills: number of directories, and depth. */
const MAX_DIRECTORIES = 2_000;
const MAX_DEPTH = 8;

/** A skill in the built-in or the operator's folder. */
export interface FoundSkill extends SkillManifest {
  readonly category: SkillCategory;
  /** Names of the directories below the category's folder. */
  readonly segments: readonly string[];
  /** Absolute path. */
  readonly directory: string;
  /** Changes when its files change. */
  readonly fingerprint: string;
}

/** Called for each skipped skill, with the reason. */
export type OnSkipped = (directory: string, reason: string) => void;

interface Search {
  directoriesLeft: number;
  readonly category: SkillCategory;
  readonly onSkipped: OnSkipped;
}

/**
 * Finds the skills below `<root>/<category>`, directories in order. A directory with a SKILL.md is a skill, including all
 * it contains; hidden directories and links are skipped. Returns none when the folder does not exist.
 */
export async function findSkills(
  root: string,
  category: SkillCategory,
  onSkipped: OnSkipped,
): Promise<readonly FoundSkill[]> {
  const state: Search = { directoriesLeft: MAX_DIRECTORIES, category, onSkipped };
  return search(join(root, category), [], state);
}

async function search(directory: string, segments: readonly string[], state: Search): Promise<readonly FoundSkill[]> {
  state.directoriesLeft -= 1;
  const entries = await readEntries(directory);
  if (entries.some((entry) => entry.name === SKILL_FILE && entry.isFile())) {
    const skill = await readSkill(directory, segments, state);
    return skill === null ? [] : [skill];
  }
  const found: FoundSkill[] = [];
  for (const { name } of entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))) {
    const inner = join(directory, name);
    if (state.directoriesLeft === 0 || segments.length === MAX_DEPTH) {
      state.onSkipped(inner, 'there are too many directories, or they are nested too deep');
      break;
    }
    found.push(...(await search(inner, [...segments, name], state)));
  }
  return found;
}

/** Lists entries sorted by name; none when the directory does not exist. */
async function readEntries(directory: string): Promise<readonly Dirent[]> {
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
  { category, onSkipped }: Search,
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
    onSkipped(directory, error.message);
    return null;
  }
}

/** Hashes names, sizes and times without reading contents. @throws {SkillRejectedError} when the tree exceeds the limits */
async function fingerprintOf(directory: string): Promise<string> {
  const hash = createHash('sha256');
  let count = 0;
  let bytes = 0;
  const add = async (above: string): Promise<void> => {
    for (const entry of await readEntries(join(directory, above))) {
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
