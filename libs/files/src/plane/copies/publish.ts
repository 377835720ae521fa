import type { FileHead, ThreadKey } from '@caribou/core';
import { isOfOtherFiles } from '../local/copy-index.js';
import { LocalTree } from '../local/local-tree.js';
import { type LocalChanges, look, scan, type ScanTarget } from '../local/scan.js';
import { treePathOf } from '../tree/tree-nodes.js';
import { type CopyParts, hasData, userDataOf, withCopy } from './open-copy.js';
import type { FoundChanges, PublishOptions, PublishPlan, StoredBefore } from './publication.js';
import { StoreChanges } from './store-changes.js';

/** Looks for local changes: see WorkingCopies. */
export async function planPublication(
  parts: CopyParts,
  thread: ThreadKey,
  { head, paths, earlier }: PublishOptions,
): Promise<PublishPlan | null> {
  const treePaths = paths?.map(treePathOf).filter((path) => path !== undefined);
  const begun = parts.writes.take(thread, treePaths);
  if (!hasData(parts.homeDir, thread)) return null;
  return withCopy(parts, thread, async (target) => {
    if (isReplaced(target.index.state, head)) return null;
    const changes = treePaths === undefined ? await scan(target) : await look(target, treePaths);
    if (changes.changed.size === 0 && changes.removed.size === 0) {
      recordScan(parts, thread, target, changes);
      return null;
    }
    return planOf(parts, thread, { head, target, changes, begun, stored: earlier?.stored ?? noneStored() });
  });
}

const noneStored = (): StoredBefore => new Map();

/** Whether the copy is of files that the head has replaced as a whole, so that its changes are dropped. */
function isReplaced(state: ScanTarget['index']['state'], head: FileHead | null): boolean {
  if (isOfOtherFiles(state, head)) return true;
  if (head === null) return false;
  return head.resetAt > state.generation || (state.home !== null && head.takenAt > state.generation);
}

/** Notes what a scan has found that is as it was, so that the next one need not look at it. */
function recordScan(
  { indexes }: CopyParts,
  thread: ThreadKey,
  { index }: ScanTarget,
  { settled, resolved, clockMs, isComplete }: LocalChanges,
): void {
  const dirty = new Set([...index.dirty].filter((path) => !resolved.has(path)));
  const { state } = index;
  indexes.append(thread, { set: settled, dirty, ...(isComplete ? { state: { ...state, clockMs } } : {}) });
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
