/** The only directories of a thread that its sandbox sees. */
export const DATA_DIRECTORIES = ['workspace', 'uploads', 'outputs'] as const;
export type DataDirectory = (typeof DATA_DIRECTORIES)[number];

/** The directory at which the three directories are mounted in every sandbox. */
export const VIRTUAL_ROOT = '/mnt/user-data';
/** The directory at which skills are mounted, read-only, in every sandbox. */
export const SKILLS_ROOT = '/mnt/skills';

/** Longest virtual path in bytes of UTF-8 (Linux PATH_MAX) and longest segment (NAME_MAX). */
export const MAX_PATH_BYTES = 4096;
const MAX_SEGMENT_BYTES = 255;

export interface VirtualPath {
  readonly directory: DataDirectory;
  /** Names below the directory, none of them empty, `.` or `..`; an empty list for the directory itself. */
  readonly segments: readonly string[];
}

/** C0, DEL and C1 control characters, and lone surrogates, which have no UTF-8 form. */
const forbiddenCharacters =
  /[\u0000-\u001f\u007f-\u009f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

const isDataDirectory = (name: string | undefined): name is DataDirectory =>
  DATA_DIRECTORIES.some((directory) => directory === name);

const bytes = (text: string): number => Buffer.byteLength(text, 'utf8');

/**
 * Parses a virtual path, or returns null for a path outside the three directories: another root, any `..`, a control
 * character, a relative path, or more than 4096 bytes. Compared by whole segments, so `/mnt/user-data-evil` and
 * `/mnt/user-data/workspaces` are outside. Empty segments and `.` are dropped.
 */
export function parseVirtualPath(path: string): VirtualPath | null {
  const [mount, data, directory, ...segments] = namesOf(path) ?? [];
  if (mount !== 'mnt' || data !== 'user-data' || !isDataDirectory(directory)) return null;
  return { directory, segments };
}

/** Parses a path below the skills' mount by the same rules; null for a path outside it. */
export function parseSkillsPath(path: string): readonly string[] | null {
  const [mount, skills, ...segments] = namesOf(path) ?? [];
  return mount === 'mnt' && skills === 'skills' ? segments : null;
}

/** The names of an absolute path, or null for a path that is never valid. */
function namesOf(path: string): readonly string[] | null {
  if (!path.startsWith('/') || bytes(path) > MAX_PATH_BYTES || forbiddenCharacters.test(path)) return null;
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  return names.some((name) => name === '..' || bytes(name) > MAX_SEGMENT_BYTES) ? null : names;
}

/** Formats a virtual path; the inverse of `parseVirtualPath`. */
export const formatVirtualPath = ({ directory, segments }: VirtualPath): string =>
  [VIRTUAL_ROOT, directory, ...segments].join('/');
