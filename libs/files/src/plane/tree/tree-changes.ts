import type { FileTree, TreeNode } from '@caribou/core';
import { OverlayTree, type TreeChanges } from './overlay-tree.js';
import { sameNode } from './tree-nodes.js';

/** Whether trees have the same nodes, with their bytes in the same places. */
export function isSameTree(left: FileTree, right: FileTree): boolean {
  if (left === right) return true;
  if (left.size !== right.size) return false;
  const { set, removed } = changesBetween(left, right);
  return set.size === 0 && removed.size === 0;
}

/** What makes `to` out of `from`; without looking at each node when both are the same tree under changes. */
export function changesBetween(from: FileTree, to: FileTree): TreeChanges {
  if (to instanceof OverlayTree && to.base === from) return to.changes;
  if (from instanceof OverlayTree && to instanceof OverlayTree && from.base === to.base) {
    const paths = [from.changes, to.changes].flatMap((changes) => [...changes.set.keys(), ...changes.removed]);
    return changesAt(new Set(paths), from, to);
  }
  const set = new Map<string, TreeNode>();
  for (const [path, node] of to) if (!sameStored(from.get(path), node)) set.set(path, node);
  const removed = new Set<string>();
  for (const path of from.keys()) if (!to.has(path)) removed.add(path);
  return { set, removed };
}

/** Whether nodes are the same and have their bytes in the same place. */
function sameStored(left: TreeNode | undefined, right: TreeNode): boolean {
  if (left === right) return true;
  if (left?.kind !== 'file' || right.kind !== 'file') return sameNode(left, right);
  const { object, offset } = left.content;
  return sameNode(left, right) && object === right.content.object && offset === right.content.offset;
}

function changesAt(paths: Iterable<string>, from: FileTree, to: FileTree): TreeChanges {
  const set = new Map<string, TreeNode>();
  const removed = new Set<string>();
  for (const path of paths) {
    const node = to.get(path);
    if (node !== undefined && !sameStored(from.get(path), node)) set.set(path, node);
    if (node === undefined && from.has(path)) removed.add(path);
  }
  return { set, removed };
}
