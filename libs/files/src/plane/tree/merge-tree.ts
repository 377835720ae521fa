import type { FileTree, TreeNode } from '@caribou/core';
import { OverlayTree, type TreeChanges } from './overlay-tree.js';
import { NEW_DIRECTORY, parentOf } from './tree-nodes.js';

/**
 * A tree with the changes of one writer, which may not know what others have changed meanwhile: his changes win path by path, and
 * what he did not change stays. A directory that he removed stays while others have something in it; what others have below a
 * path where he made a file is gone.
 */
export function mergeChanges(tree: FileTree, changes: TreeChanges): FileTree {
  const set = reachable(changes.set);
  const removed = new Set([...changes.removed].filter((path) => !set.has(path)));
  const merged = OverlayTree.of(tree, { set, removed: new Set([...removed, ...nonDirectoriesAbove(tree, set)]) });
  const complete = OverlayTree.of(merged, { set: parentsOf(merged, set.keys()), removed: new Set() });
  return mayLoseParents(tree, { set, removed }) ? repaired(complete, set) : complete;
}

/** The changes without those below a path that is no directory: it became one while the changes were looked for. */
function reachable(set: ReadonlyMap<string, TreeNode>): ReadonlyMap<string, TreeNode> {
  const isBelowFile = (path: string): boolean => {
    for (let above = parentOf(path); above !== undefined; above = parentOf(above)) {
      if ((set.get(above)?.kind ?? 'directory') !== 'directory') return true;
    }
    return false;
  };
  const unreachable = [...set.keys()].filter(isBelowFile);
  return unreachable.length === 0 ? set : new Map([...set].filter(([path]) => !isBelowFile(path)));
}

/** Files and links of others that lie where the writer has a directory. */
function nonDirectoriesAbove(tree: FileTree, set: ReadonlyMap<string, TreeNode>): readonly string[] {
  const found: string[] = [];
  for (const path of set.keys()) {
    for (let above = parentOf(path); above !== undefined; above = parentOf(above)) {
      const node = tree.get(above);
      if (node === undefined || node.kind === 'directory') continue;
      if (set.get(above)?.kind !== 'directory') found.push(above);
    }
  }
  return found;
}

/** The directories that are missing above the paths. */
function parentsOf(tree: FileTree, paths: Iterable<string>): Map<string, TreeNode> {
  const made = new Map<string, TreeNode>();
  for (const path of paths) {
    for (let above = parentOf(path); above !== undefined; above = parentOf(above)) {
      if (made.has(above) || tree.has(above)) break;
      made.set(above, NEW_DIRECTORY);
    }
  }
  return made;
}

/** Whether a directory of the tree is one no longer, so that something may have lost its parent. */
function mayLoseParents(tree: FileTree, { set, removed }: TreeChanges): boolean {
  for (const path of removed) if (tree.get(path)?.kind === 'directory') return true;
  for (const [path, node] of set) {
    if (node.kind !== 'directory' && tree.get(path)?.kind === 'directory') return true;
  }
  return false;
}

/** The tree in which every node has a directory above it. */
function repaired(tree: FileTree, set: ReadonlyMap<string, TreeNode>): FileTree {
  const lost = new Set<string>();
  const orphans: string[] = [];
  for (const path of tree.keys()) {
    const obstacle = obstacleAbove(tree, path);
    if (obstacle === undefined) continue;
    if (set.has(obstacle) && tree.has(obstacle)) lost.add(path);
    else orphans.push(path);
  }
  const cleared = OverlayTree.of(tree, { set: new Map(), removed: lost });
  return OverlayTree.of(cleared, { set: parentsOf(cleared, orphans), removed: new Set() });
}

/** The lowest path above that is no directory of the tree, or one that is above a file. */
function obstacleAbove(tree: FileTree, path: string): string | undefined {
  let missing: string | undefined;
  for (let above = parentOf(path); above !== undefined; above = parentOf(above)) {
    const node = tree.get(above);
    if (node === undefined) missing ??= above;
    else if (node.kind !== 'directory') return above;
  }
  return missing;
}
