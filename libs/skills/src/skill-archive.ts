import { type Entry, getFileNameLowLevel, type ZipFile } from 'yauzl';
import { openZip, type ZipSource } from './open-zip.js';
import { SkillRejectedError } from './skill-rejected.js';
import { MAX_SKILL_BYTES, MAX_SKILL_ENTRIES, SKILL_FILE } from './skill-tree.js';

/** A validated file of an archive. */
export interface ArchiveFile {
  /** Names below the skill's directory. */
  readonly segments: readonly string[];
  /** The archive marks it as executable. */
  readonly isProgram: boolean;
  readonly entry: Entry;
}

export interface SkillArchive {
  readonly zip: ZipFile;
  /** All files, including the skill's own SKILL.md. */
  readonly files: readonly ArchiveFile[];
}

const MAX_DEPTH = 16;
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 1_024;

/** POSIX file types in the upper half of `externalFileAttributes`; archives from other systems have none. */
const TYPE_MASK = 0o170000;
const REGULAR = 0o100000;
const DIRECTORY = 0o040000;
const SYMBOLIC_LINK = 0o120000;
const EXECUTABLE_BITS = 0o111;

/** NUL and other control characters, lone surrogates, separators of other systems, and NTFS streams. */
const FORBIDDEN =
  /[\u0000-\u001f\u007f-\u009f\\:]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** Whether an entry is metadata that archivers add. */
const isArchiverMetadata = (top: string | undefined): boolean =>
  top === undefined || top.startsWith('.') || top === '__MACOSX';

/**
 * Validates every entry of a `.skill` archive and lists its files before anything is unpacked. The caller closes the
 * file. A single top-level directory is removed from the paths.
 *
 * @throws {SkillRejectedError} for an invalid archive, or one with an entry that must not be unpacked
 */
export async function openSkillArchive(file: ZipSource): Promise<SkillArchive> {
  const zip = await wrapArchiveErrors('the file is not a ZIP archive', () => openZip(file, { decodeStrings: false }));
  const packed = await wrapArchiveErrors('the archive cannot be read', () => readFiles(zip));
  const files = stripWrapper(packed.filter(({ segments }) => !isArchiverMetadata(segments[0])));
  if (files.length === 0) throw new SkillRejectedError('the archive is empty');
  const inner = files.find(({ segments }) => segments.length > 1 && segments.at(-1)?.toUpperCase() === 'SKILL.MD');
  if (inner !== undefined) throw new SkillRejectedError(`a skill within the skill: ${quote(inner.segments.join('/'))}`);
  return { zip, files };
}

/** Converts errors of the archive reader to a rejection with the given text; rejections and disk errors pass. */
export async function wrapArchiveErrors<T>(otherwise: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const fromDisk = typeof error === 'object' && error !== null && 'syscall' in error;
    if (error instanceof SkillRejectedError || fromDisk) throw error;
    throw new SkillRejectedError(otherwise, { cause: error });
  }
}

async function readFiles(zip: ZipFile): Promise<readonly ArchiveFile[]> {
  const files: ArchiveFile[] = [];
  const paths = new MemberPaths();
  let count = 0;
  let declared = 0;
  for await (const entry of zip.eachEntry()) {
    count += 1;
    declared += entry.uncompressedSize;
    if (count > MAX_SKILL_ENTRIES)
      throw new SkillRejectedError(`the archive has more than ${MAX_SKILL_ENTRIES} entries`);
    if (declared > MAX_SKILL_BYTES)
      throw new SkillRejectedError(`the archive unpacks to more than ${MAX_SKILL_BYTES} bytes`);
    const path = getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, true);
    const isDirectory = path.endsWith('/');
    const segments = safeSegments(path);
    const type = requireOrdinary(entry, path, isDirectory);
    paths.add(segments, isDirectory);
    if (!isDirectory) files.push({ segments, isProgram: (type & EXECUTABLE_BITS) !== 0, entry });
  }
  return files;
}

/** @throws {SkillRejectedError} for a path that may lead outside, on this or another system */
function safeSegments(path: string): readonly string[] {
  const segments = path.replace(/\/$/, '').split('/');
  const isBad =
    FORBIDDEN.test(path) ||
    Buffer.byteLength(path) > MAX_PATH_BYTES ||
    segments.length > MAX_DEPTH ||
    segments.some((name) => ['', '.', '..'].includes(name) || Buffer.byteLength(name) > MAX_NAME_BYTES);
  if (isBad) throw new SkillRejectedError(`unsafe member path: ${quote(path)}`);
  return segments;
}

/** Returns the mode bits of a regular file or directory. @throws {SkillRejectedError} for anything else */
function requireOrdinary(entry: Entry, path: string, isDirectory: boolean): number {
  const mode = entry.externalFileAttributes >>> 16;
  const type = mode & TYPE_MASK;
  if (entry.isEncrypted()) throw new SkillRejectedError(`the member is encrypted: ${quote(path)}`);
  if (type === SYMBOLIC_LINK) throw new SkillRejectedError(`the member is a symbolic link: ${quote(path)}`);
  const expected = isDirectory ? DIRECTORY : REGULAR;
  if (type !== 0 && type !== expected) throw new SkillRejectedError(`the member is not a regular file: ${quote(path)}`);
  return mode;
}

/** Paths of entries, which must be unique and not both a file and a directory. */
class MemberPaths {
  private readonly files = new Set<string>();
  private readonly directories = new Set<string>();

  /** @throws {SkillRejectedError} */
  add(segments: readonly string[], isDirectory: boolean): void {
    const path = segments.join('/');
    const above = segments.slice(1).map((_, at) => segments.slice(0, at + 1).join('/'));
    const clashes = isDirectory ? this.files.has(path) : this.files.has(path) || this.directories.has(path);
    if (clashes || above.some((directory) => this.files.has(directory)))
      throw new SkillRejectedError(`the member is a duplicate: ${quote(path)}`);
    for (const directory of above) this.directories.add(directory);
    (isDirectory ? this.directories : this.files).add(path);
  }
}

function stripWrapper(files: readonly ArchiveFile[]): readonly ArchiveFile[] {
  const tops = new Set(files.map(({ segments }) => segments[0]));
  const isWrapped = tops.size === 1 && files.every(({ segments }) => segments.length > 1);
  return isWrapped ? files.map((file) => ({ ...file, segments: file.segments.slice(1) })) : files;
}

/** Quotes and shortens an untrusted path for an error text. */
export const quote = (path: string): string => JSON.stringify(path.slice(0, 200));

/** Finds the skill's own SKILL.md. @throws {SkillRejectedError} when there is none */
export function skillFileOf({ files }: SkillArchive): ArchiveFile {
  const found = files.find(({ segments }) => segments.length === 1 && segments[0] === SKILL_FILE);
  if (found === undefined) throw new SkillRejectedError('Invalid skill: SKILL.md not found at the root of the archive');
  return found;
}
