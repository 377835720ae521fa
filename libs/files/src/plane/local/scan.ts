import { depthOf, nameOf, NEW_DIRECTORY, parentOf } from '../tree/tree-nodes.js';
import type { CopyEntry, CopyIndex } from './copy-index.js';
import { CLOCK_MARGIN_MS, isSettled } from './file-times.js';
import { findChanged } from './find-changed.js';
import { isClosed, type LocalTree } from './local-tree.js';
import { localHash } from './local-source.js';
import { modifiedMsOf, sameStamp, type Stamp } from './stamps.js';
import { childrenOf, emptySighting, type Sighting, type SkippedEntries, walkTree } from './tree-walk.js';

/** How a local copy differs from its index. */
export interface LocalChanges {
  /** Entries that may differ, with their stamps, parents before children. No special files. */
  readonly changed: ReadonlyMap<string, Stamp>;
  readonly removed: ReadonlySet<string>;
  /** Entries that had to be looked at and are as in the index, with the stamps that they have now. */
  readonly settled: ReadonlyMap<string, CopyEntry>;
  /** Dirty paths of the index that the next scan need not look at because of this one. */
  readonly resolved: ReadonlySet<string>;
  readonly skipped: SkippedEntries;
  /** When the scan began, by the clock of the file system, in milliseconds. */
  readonly clockMs: number;
  /** What changed last before this time is sure to have another stamp after its next change, in milliseconds. */
  readonly settledMs: number;
  /** Whether everything was looked at, and not only given paths. */
  readonly isComplete: boolean;
}

export interface ScanTarget {
  readonly local: LocalTree;
  readonly index: CopyIndex;
  readonly clockMs: number;
  /** See LocalChanges. */
  readonly settledMs: number;
  /** Trees with more entries are scanned by find. */
  readonly maxWalked: number;
  /** Two finds share a tree when each has at least so many entries. */
  readonly minShare: () => number;
  /** Larger files are skipped. */
  readonly maxFileBytes: number;
}

const sinceOf = ({ state }: CopyIndex): number => state.clockMs - CLOCK_MARGIN_MS;

/**
 * Looks for what has changed since the index. A renamed file has a new ctime, as has a renamed directory, whose contents are then
 * all looked at; what is gone shows by the names of directories that have changed. Changes through a shared memory map show once
 * the kernel has written them, or when the process ends.
 *
 * @throws {TooLargeError} for more entries than a tree may have
 */
export async function scan(target: ScanTarget): Promise<LocalChanges> {
  const { local, index, maxWalked, minShare } = target;
  const isLarge = index.entries.size > maxWalked;
  const changed = isLarge
    ? await findChanged(local, index.entries, { sinceMs: sinceOf(index), minShare: minShare() })
    : null;
  const sighting = emptySighting();
  if (changed === null) await walkTree(local, sighting);
  else await lookAround(target, sighting, changed);
  return changesOf(target, sighting, true);
}

/**
 * The same for single paths and the directories above them.
 *
 * @param paths paths of a tree; others are not looked at
 */
export async function look(target: ScanTarget, paths: readonly string[]): Promise<LocalChanges> {
  const sighting = emptySighting();
  for (const path of new Set(paths.flatMap((each) => [...directoriesAbove(each), each]))) {
    lookAt(target.local, sighting, path);
  }
  return changesOf(target, sighting, false);
}

/** Completes what find has printed: contents of moved directories, names of changed ones, and paths that are always looked at. */
async function lookAround(
  { local, index }: ScanTarget,
  sighting: Sighting,
  changed: ReadonlyMap<string, Stamp>,
): Promise<void> {
  const moved = new Set<string>();
  for (const [path, stamp] of changed) {
    sighting.found.set(path, stamp);
    if (stamp.kind !== 'directory') continue;
    const known = index.entries.get(path)?.stamp;
    // No command can move a data directory.
    const isMoved = parentOf(path) !== undefined && (known?.kind !== 'directory' || known.ino !== stamp.ino);
    if (isMoved) moved.add(path);
    else if (stamp.ctimeMs > sinceOf(index)) childrenOf(local, sighting, path);
  }
  const highest = [...moved].filter((path) => !directoriesAbove(path).some((above) => moved.has(above)));
  await walkTree(local, sighting, highest);
  for (const path of [...index.dirty, ...index.underWay]) {
    if (!sighting.found.has(path)) lookAt(local, sighting, path);
  }
}

function lookAt(local: LocalTree, { found, missing, skipped }: Sighting, path: string): void {
  try {
    const stamp = local.stamp(path);
    if (stamp === undefined) missing.add(path);
    else found.set(path, stamp);
  } catch (error) {
    if (!isClosed(error)) throw error;
    skipped.closed += 1;
  }
}

/** Paths of the directories above, the highest first. */
function directoriesAbove(path: string): string[] {
  const above: string[] = [];
  for (let parent = parentOf(path); parent !== undefined; parent = parentOf(parent)) above.unshift(parent);
  return above;
}

async function changesOf(target: ScanTarget, sighting: Sighting, isComplete: boolean): Promise<LocalChanges> {
  const { index, clockMs, settledMs, maxFileBytes } = target;
  const { found, skipped } = sighting;
  const changed: [string, Stamp][] = [];
  const settled = new Map<string, CopyEntry>();
  for (const [path, stamp] of found) {
    if (stamp.kind === 'special') skipped.special += 1;
    else if (stamp.kind === 'file' && stamp.size > maxFileBytes) skipped.tooLarge += 1;
    else if (!isKnown(index, path, stamp)) {
      const entry = await unchangedEntry(target, path, stamp);
      if (entry === undefined) changed.push([path, stamp]);
      else settled.set(path, entry);
    }
  }
  changed.sort(([left], [right]) => depthOf(left) - depthOf(right));
  const removed = removedOf(index, sighting);
  const resolved = new Set([...removed].filter((path) => index.dirty.has(path)));
  for (const [path, { stamp }] of settled) if (isSettled(stamp, settledMs)) resolved.add(path);
  return { changed: new Map(changed), removed, settled, resolved, skipped, clockMs, settledMs, isComplete };
}

/** The entry of a path that is still the same node. */
async function unchangedEntry(
  { local, index }: ScanTarget,
  path: string,
  stamp: Stamp,
): Promise<CopyEntry | undefined> {
  const node = index.underWay.has(path) ? undefined : index.entries.get(path)?.node;
  if (node === undefined || node.kind !== stamp.kind) return undefined;
  return (await isStill(local, path, { node, stamp })) ? { node, stamp } : undefined;
}

/** Bytes are only read when nothing else tells a file from the node. */
async function isStill(local: LocalTree, path: string, { node, stamp }: CopyEntry): Promise<boolean> {
  if (node.kind === 'link') return local.linkTarget(path) === node.target;
  if (node.mode !== stamp.mode) return false;
  if (node.kind === 'directory') return true;
  if (node.size !== stamp.size || node.modifiedMs !== modifiedMsOf(stamp)) return false;
  return (await localHash(local, path, node.size)) === node.sha256;
}

/** Entries of the index that are gone, with all that was below them. What is closed to this process is not gone. */
function removedOf({ entries }: CopyIndex, sighting: Sighting): ReadonlySet<string> {
  const { found, listed, missing } = sighting;
  // Without a list of names only what was looked at can be gone.
  const looked = listed.size === 0 ? [...found.keys(), ...missing] : [...entries.keys()];
  const isDirectory = (path: string): boolean => (found.get(path)?.kind ?? 'directory') === 'directory';
  const removed = new Set(looked.filter((path) => entries.has(path) && isGoneIn(sighting, path)));
  const lostDirectories = new Set(
    looked.filter((path) => (removed.has(path) || !isDirectory(path)) && entries.get(path)?.node.kind === 'directory'),
  );
  if (lostDirectories.size === 0) return removed;
  for (const path of entries.keys()) {
    if (directoriesAbove(path).some((above) => lostDirectories.has(above))) removed.add(path);
  }
  return removed;
}

function isGoneIn({ found, listed, missing }: Sighting, path: string): boolean {
  if (missing.has(path) || found.get(path)?.kind === 'special') return true;
  const parent = parentOf(path);
  return parent !== undefined && listed.get(parent)?.has(nameOf(path)) === false;
}

function isKnown({ entries, dirty, underWay }: CopyIndex, path: string, stamp: Stamp): boolean {
  if (dirty.has(path) || underWay.has(path)) return false;
  const known = entries.get(path);
  if (known !== undefined) return sameStamp(known.stamp, stamp);
  // A data directory that nothing is known of is part of no tree as long as it is as it was made.
  return parentOf(path) === undefined && stamp.kind === 'directory' && stamp.mode === NEW_DIRECTORY.mode;
}
