import { type Dirent, type Stats } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, type ObjectInfo, type ObjectPage } from '@caribou/core';
import { isKey, MAX_PAGE } from '../common/object-key.js';
import { fileOf, segmentOf } from './object-path.js';

/** Names of one directory that are looked at together; a larger directory is read again for the next ones. */
const NAMES_AT_ONCE = MAX_PAGE + 1;
const STATS_AT_ONCE = 32;

interface Search {
  readonly root: string;
  readonly prefix: string;
  readonly after: string;
  readonly signal: AbortSignal;
}

/** One page of the objects, in ascending order of their keys; needs memory for two pages for each level of directories. */
export async function listObjects(search: Search): Promise<ObjectPage> {
  const keys: string[] = [];
  let next: string | undefined;
  const top = search.prefix.slice(0, search.prefix.lastIndexOf('/') + 1);
  for await (const key of keysBelow(top, search)) {
    if (keys.length === MAX_PAGE) {
      next = keys.at(-1);
      break;
    }
    keys.push(key);
  }
  const objects = await describe(keys, search);
  return { objects, ...(next === undefined ? {} : { next }) };
}

/** The keys below a directory, named by the beginning of their keys, such as `a/b/`; each name is smaller than the next. */
async function* keysBelow(directory: string, search: Search): AsyncGenerator<string, void> {
  let seen = '';
  for (;;) {
    const names = await smallestNames(directory, seen, search);
    for (const name of names) {
      if (name.endsWith('/')) yield* keysBelow(name, search);
      else yield name;
    }
    const last = names.at(-1);
    if (last === undefined || names.length < NAMES_AT_ONCE) return;
    seen = last;
  }
}

/**
 * The first keys, and directories with a `/` at the end, in a directory behind `seen`. Both are compared as keys are, so that
 * `a-b` comes before all of `a/` and these before `a0`.
 */
async function smallestNames(directory: string, seen: string, search: Search): Promise<string[]> {
  let names: string[] = [];
  for await (const entry of entriesOf(join(search.root, directory))) {
    search.signal.throwIfAborted();
    const name = nameOf(directory, entry);
    if (name === undefined || name <= seen || !isWanted(name, search)) continue;
    names.push(name);
    if (names.length === 2 * NAMES_AT_ONCE) names = names.sort().slice(0, NAMES_AT_ONCE);
  }
  return names.sort().slice(0, NAMES_AT_ONCE);
}

async function* entriesOf(path: string): AsyncGenerator<Dirent, void> {
  try {
    yield* await opendir(path);
  } catch (error) {
    // Removed meanwhile, or the prefix names nothing.
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

function nameOf(directory: string, entry: Dirent): string | undefined {
  const segment = entry.isDirectory() ? entry.name : entry.isFile() ? segmentOf(entry.name) : undefined;
  if (segment === undefined || !isKey(directory + segment)) return undefined;
  return entry.isDirectory() ? `${directory}${segment}/` : directory + segment;
}

function isWanted(name: string, { prefix, after }: Search): boolean {
  if (!name.endsWith('/')) return name.startsWith(prefix) && name > after;
  return (name.startsWith(prefix) || prefix.startsWith(name)) && (name > after || after.startsWith(name));
}

async function describe(keys: readonly string[], { root, signal }: Search): Promise<ObjectInfo[]> {
  const found: ObjectInfo[] = [];
  for (let at = 0; at < keys.length; at += STATS_AT_ONCE) {
    signal.throwIfAborted();
    const infos = await Promise.all(keys.slice(at, at + STATS_AT_ONCE).map((key) => infoOf(root, key)));
    found.push(...infos.filter((info) => info !== undefined));
  }
  return found;
}

/** What is known of an object; undefined when there is none. */
export async function infoOf(root: string, key: string): Promise<ObjectInfo | undefined> {
  const stats = await statsOf(fileOf(root, key));
  return stats?.isFile() === true ? { key, size: stats.size, modifiedMs: Math.trunc(stats.mtimeMs) } : undefined;
}

async function statsOf(file: string): Promise<Stats | undefined> {
  try {
    return await lstat(file);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Whether the error says that there is no such file, or no directory above it. */
export const isMissing = (error: unknown): boolean => {
  const code = errnoOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
};
