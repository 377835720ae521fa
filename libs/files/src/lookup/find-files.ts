import { type FileHandle, lstat } from 'node:fs/promises';
import { DATA_DIRECTORIES, parseVirtualPath, type ThreadKey, VIRTUAL_ROOT } from '@caribou/core';
import { below, openDirectory } from '../descriptor-walk.js';
import { type Entry, entriesBelow, smallText, type WalkBudget, walkBudget } from './directory-entries.js';
import { toFileRefused } from '../file-refused.js';
import { globPattern } from './glob-pattern.js';
import { type LineMatch, LineSearch, SearchTimeout } from './line-search.js';
import type { ResolvedPath } from '../resolved-path.js';
import type { ThreadFiles } from '../thread-files.js';

/** Entries one listing or search looks at, and the time it may take; in milliseconds. */
const LIMITS = { maxEntries: 20_000, maxMs: 5_000 };
/** Largest file that is searched, and most bytes one search reads. */
const MAX_SEARCHED_FILE_BYTES = 1024 * 1024;
const MAX_SEARCHED_BYTES = 64 * 1024 * 1024;

/** Where to look: `path` is a virtual path of a directory. */
export interface LookupTarget {
  readonly thread: ThreadKey;
  readonly path: string;
}

export interface Found<T> {
  readonly found: readonly T[];
  /** Whether there are more than were requested. */
  readonly truncated: boolean;
  /** Whether the walk ended before it had seen everything. */
  readonly incomplete: boolean;
}

export interface FileMatch extends LineMatch {
  readonly path: string;
}

interface FoundEntry extends Entry {
  readonly path: string;
  readonly mayBeLinked: boolean;
}

/** `/mnt/user-data` itself is not a directory of a thread: its three directories are searched instead. */
const isVirtualRoot = (path: string): boolean => parseVirtualPath(`${path}/workspace`)?.segments.length === 0;

/** Replaces control characters: a name with a line break could pass for lines of the listing. */
const toPrintablePath = (path: string): string => path.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '?');

/** @throws {FileRefusedError} when the path is no directory that can be walked */
async function* walk(
  files: ThreadFiles,
  { thread, path }: LookupTarget,
  options: { readonly budget: WalkBudget; readonly depth?: number },
): AsyncGenerator<FoundEntry> {
  const starts = isVirtualRoot(path) ? DATA_DIRECTORIES.map((directory) => `${VIRTUAL_ROOT}/${directory}`) : [path];
  for (const start of [...starts].sort()) {
    const resolved = files.resolvePath(thread, start);
    const above = starts.length === 1 ? [] : [start.slice(VIRTUAL_ROOT.length + 1)];
    const handle = await openTarget(resolved, start);
    const { mayBeLinked } = resolved;
    try {
      if (above.length > 0) yield { names: above, kind: 'directory', parent: handle, path: start, mayBeLinked };
      if (options.depth !== undefined && options.depth <= above.length) continue;
      for await (const entry of entriesBelow(handle, options, above)) {
        const names = [...resolved.segments, ...entry.names.slice(above.length)];
        yield { ...entry, path: [resolved.root, ...names].join('/'), mayBeLinked };
      }
    } catch (error) {
      throw toFileRefused(error, start);
    } finally {
      await handle.close();
    }
  }
}

async function openTarget({ hostRoot, segments }: ResolvedPath, path: string): Promise<FileHandle> {
  try {
    return await openDirectory(await hostRoot(), segments);
  } catch (error) {
    throw toFileRefused(error, path);
  }
}

/** Sorted virtual paths down to `depth`, directories with a slash at their end. @throws {FileRefusedError} */
export async function listDirectory(
  files: ThreadFiles,
  target: LookupTarget,
  { depth, maxResults }: { readonly depth: number; readonly maxResults: number },
): Promise<Found<string>> {
  const budget = walkBudget(LIMITS);
  const lines: string[] = [];
  for await (const { path, kind } of walk(files, target, { budget, depth })) {
    lines.push(toPrintablePath(path) + (kind === 'directory' ? '/' : ''));
  }
  const found = lines.sort().slice(0, maxResults);
  return { found, truncated: lines.length > found.length, incomplete: budget.exhausted };
}

export interface GlobQuery {
  /** At most 200 characters. */
  readonly pattern: string;
  readonly includeDirectories: boolean;
  readonly maxResults: number;
}

/** Virtual paths of the files that match, links never among them. @throws {FileRefusedError} */
export async function findFiles(
  files: ThreadFiles,
  target: LookupTarget,
  { pattern, includeDirectories, maxResults }: GlobQuery,
): Promise<Found<string>> {
  const budget = walkBudget(LIMITS);
  const fits = globPattern(pattern);
  const found: string[] = [];
  for await (const { names, kind, path } of walk(files, target, { budget })) {
    const isWanted = kind === 'file' || (kind === 'directory' && includeDirectories);
    if (!isWanted || !fits(names.join('/'))) continue;
    if (found.length === maxResults) return { found, truncated: true, incomplete: budget.exhausted };
    found.push(toPrintablePath(path) + (kind === 'directory' ? '/' : ''));
  }
  return { found, truncated: false, incomplete: budget.exhausted };
}

export interface GrepQuery {
  readonly pattern: RegExp;
  /** Only files that match; at most 200 characters. */
  readonly glob?: string | undefined;
  readonly maxResults: number;
}

/**
 * Lists the entries that a search reads: the file itself that the path names, or all below a directory.
 *
 * @throws {FileRefusedError}
 */
async function* walkTarget(files: ThreadFiles, target: LookupTarget, budget: WalkBudget): AsyncGenerator<FoundEntry> {
  const at = isVirtualRoot(target.path) ? null : files.resolvePath(target.thread, target.path);
  const name = at?.segments.at(-1);
  if (at === null || name === undefined) {
    yield* walk(files, target, { budget });
    return;
  }
  const { root, segments, mayBeLinked } = at;
  const parent = await openTarget({ ...at, segments: segments.slice(0, -1) }, target.path);
  try {
    const stat = await lstat(below(parent, name)).catch((error: unknown) => {
      throw toFileRefused(error, target.path);
    });
    const path = [root, ...segments].join('/');
    if (stat.isFile()) yield { names: [name], kind: 'file', parent, path, mayBeLinked };
    else yield* walk(files, target, { budget });
  } finally {
    await parent.close();
  }
}

/**
 * Lines that match, of text files of at most 1 MB; the path may be that of such a file. The time is bounded whatever
 * the pattern; matches that were found until then are returned as incomplete.
 *
 * @throws {FileRefusedError}
 */
export async function searchLines(
  files: ThreadFiles,
  target: LookupTarget,
  query: GrepQuery,
): Promise<Found<FileMatch>> {
  const budget = walkBudget(LIMITS);
  const fits = query.glob === undefined ? () => true : globPattern(query.glob);
  const found: FileMatch[] = [];
  let bytesLeft = MAX_SEARCHED_BYTES;
  const search = new LineSearch(query.pattern, LIMITS.maxMs);
  try {
    for await (const entry of walkTarget(files, target, budget)) {
      if (entry.kind !== 'file' || !fits(entry.names.join('/'))) continue;
      const maxBytes = Math.min(MAX_SEARCHED_FILE_BYTES, bytesLeft);
      const content = await smallText(entry, { maxBytes, mayBeLinked: entry.mayBeLinked });
      if (content === undefined) continue;
      bytesLeft -= content.length;
      if (bytesLeft < MAX_SEARCHED_FILE_BYTES) budget.exhausted = true;
      const maxMatches = query.maxResults - found.length + 1;
      const matches = await search.search({ content, maxMatches });
      found.push(...matches.map((match) => ({ ...match, path: toPrintablePath(entry.path) })));
      if (found.length > query.maxResults || bytesLeft < MAX_SEARCHED_FILE_BYTES) break;
    }
  } catch (error) {
    if (!(error instanceof SearchTimeout)) throw error;
    budget.exhausted = true;
  } finally {
    await search.close();
  }
  const truncated = found.length > query.maxResults;
  return { found: found.slice(0, query.maxResults), truncated, incomplete: budget.exhausted };
}
