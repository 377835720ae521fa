import { type FileHead, type FileTrees, parseVirtualPath, type ThreadKey } from '@caribou/core';
import { LocalTree } from '../local/local-tree.js';
import { type LocalChanges, look, scan, type ScanTarget } from '../local/scan.js';
import type { SkippedEntries } from '../local/tree-walk.js';
import { toTreeText } from '../tree/tree-nodes.js';
import { type CopyParts, hasData, userDataOf, withCopy } from './open-copy.js';
import { StoreChanges, type StoredBefore } from './store-changes.js';

export interface PublishOptions {
  /** The head that the new trees are made from. */
  readonly head: FileHead | null;
  /** Virtual paths that may have changed; absent for all. Those outside the data directories are ignored. */
  readonly paths?: readonly string[];
  /** A plan whose commit met another head: contents that it has stored are not stored again. */
  readonly earlier?: PublishPlan;
}

/** Local changes that were found, and are not stored yet. */
export interface PublishPlan {
  /** Bytes of the files that may have to be stored. */
  readonly bytes: number;
  /** Entries that may have changed or are gone. */
  readonly entries: number;
  readonly skipped: Readonly<SkippedEntries>;
  readonly stored: StoredBefore;
  /**
   * Stores contents and trees. Null when everything is as in the head after all.
   *
   * @throws {UnavailableError} @throws {TooLargeError}
   */
  store(): Promise<StoredChanges | null>;
}

/** Trees that are stored, to be committed. */
export interface StoredChanges {
  readonly trees: FileTrees;
  /** Of both trees, as in FileHead. */
  readonly bytes: number;
  readonly files: number;
  /** Paths that differ from the head that the trees were made from. */
  readonly changed: number;
  /** Whether files were left out, as they changed while they were read. */
  readonly isPartial: boolean;
  /** Notes that the local copy has these changes in common with the head that was made of them. */
  record(head: FileHead): void;
}

/** Looks for local changes: see WorkingCopies. */
export async function planPublication(
  parts: CopyParts,
  thread: ThreadKey,
  { head, paths, earlier }: PublishOptions,
): Promise<PublishPlan | null> {
  if (!hasData(parts.homeDir, thread)) return null;
  return withCopy(parts, thread, async (target) => {
    if (isReplaced(target.index.state, head)) return null;
    const changes = paths === undefined ? await scan(target) : await look(target, paths.flatMap(treePathsOf));
    if (changes.changed.size === 0 && changes.removed.size === 0) {
      recordScan(parts, thread, target, changes);
      return null;
    }
    return planOf(parts, thread, { head, target, changes, stored: earlier?.stored ?? new Map() });
  });
}

/** Whether the copy is of files that the head has replaced as a whole, so that its changes are dropped. */
function isReplaced({ home, generation }: ScanTarget['index']['state'], head: FileHead | null): boolean {
  if (head === null) return home !== null;
  return (home !== null && home !== head.home) || head.resetAt > generation;
}

/** Notes what a scan has found that is as it was, so that the next one need not look at it. */
function recordScan(
  { indexes }: CopyParts,
  thread: ThreadKey,
  { index: { state } }: ScanTarget,
  { settled, dirty, clockMs, isComplete }: LocalChanges,
): void {
  indexes.append(thread, { set: settled, dirty, ...(isComplete ? { state: { ...state, clockMs } } : {}) });
}

function treePathsOf(path: string): string[] {
  const parsed = parseVirtualPath(path);
  return parsed === null ? [] : [[parsed.directory, ...parsed.segments].map(toTreeText).join('/')];
}

export interface FoundChanges {
  readonly head: FileHead | null;
  readonly target: ScanTarget;
  readonly changes: LocalChanges;
  readonly stored: StoredBefore;
}

function planOf(parts: CopyParts, thread: ThreadKey, found: FoundChanges): PublishPlan {
  const { changed, removed, skipped } = found.changes;
  let bytes = 0;
  for (const stamp of changed.values()) if (stamp.kind === 'file') bytes += stamp.size;
  return {
    bytes,
    entries: changed.size + removed.size,
    skipped,
    stored: found.stored,
    store: async () => {
      const local = new LocalTree(userDataOf(parts.homeDir, thread));
      try {
        return await new StoreChanges(parts, thread, found, local).run();
      } finally {
        local.close();
      }
    },
  };
}
