import { setImmediate as nextTurn } from 'node:timers/promises';
import { DATA_DIRECTORIES } from '@caribou/core';
import { MAX_MEASURED_DEPTH } from '../../quota/disk-usage.js';
import { depthOf, MAX_NODES, MAX_PATH_BYTES, requireNodeLimit } from '../tree/tree-nodes.js';
import { isClosed, isGone, type LocalTree } from './local-tree.js';
import type { Stamp } from './stamps.js';

/** Entries that are not copied. */
export interface SkippedEntries {
  /** FIFOs, sockets and devices. */
  special: number;
  /** Files and directories that this process may not read. */
  closed: number;
  /** Nested deeper, or with a longer path, than is measured. */
  tooDeep: number;
  /** Files larger than are stored. */
  tooLarge: number;
}

export const noneSkipped = (): SkippedEntries => ({ special: 0, closed: 0, tooDeep: 0, tooLarge: 0 });

/** What was seen of the local tree. */
export interface Sighting {
  /** Entries that were looked at. */
  readonly found: Map<string, Stamp>;
  /** Names of the directories that were listed, by the path of the directory. */
  readonly listed: Map<string, ReadonlySet<string>>;
  /** Paths that were looked for and are not there. */
  readonly missing: Set<string>;
  readonly skipped: SkippedEntries;
}

const ENTRIES_PER_TURN = 128;

export const emptySighting = (): Sighting => ({
  found: new Map(),
  listed: new Map(),
  missing: new Set(),
  skipped: noneSkipped(),
});

/** Adds all entries below the directories, and these themselves. @throws {TooLargeError} beyond the limit of nodes */
export async function walkTree(
  local: LocalTree,
  sighting: Sighting,
  from: readonly string[] = DATA_DIRECTORIES,
): Promise<void> {
  const waiting = [...from];
  let seen = 0;
  const look = async (path: string): Promise<void> => {
    seen += 1;
    if (seen % ENTRIES_PER_TURN === 0) await nextTurn();
    const stamp = local.stamp(path);
    if (stamp === undefined) return;
    sighting.found.set(path, stamp);
    requireNodeLimit(sighting.found.size);
    if (stamp.kind === 'directory') waiting.push(path);
  };
  for (const path of from) {
    const stamp = local.stamp(path);
    if (stamp !== undefined) sighting.found.set(path, stamp);
  }
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    for (const child of childrenOf(local, sighting, path)) await look(child);
  }
}

/** Paths of the entries of a directory, which is noted as listed; none of one that is gone or closed to this process. */
export function childrenOf(local: LocalTree, { listed, skipped }: Sighting, path: string): readonly string[] {
  try {
    const names = local.names(path, MAX_NODES + 1);
    const known = names.filter((name) => path.length + 1 + name.length <= MAX_PATH_BYTES);
    const isTooDeep = depthOf(path) > MAX_MEASURED_DEPTH;
    skipped.tooDeep += isTooDeep ? names.length : names.length - known.length;
    listed.set(path, new Set(isTooDeep ? [] : known));
    return isTooDeep ? [] : known.map((name) => `${path}/${name}`);
  } catch (error) {
    if (isClosed(error)) skipped.closed += 1;
    else if (!isGone(error)) throw error;
    return [];
  }
}
