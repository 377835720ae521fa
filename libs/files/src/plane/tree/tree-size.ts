import type { FileTree, TreeNode } from '@caribou/core';
import { OverlayTree } from './overlay-tree.js';

export interface TreeSize {
  /** Bytes of all files. */
  readonly bytes: number;
  /** Files and links; directories do not count. */
  readonly files: number;
}

/** Of trees without changes, as long as they are in memory: no tree ever changes. */
const known = new WeakMap<FileTree, TreeSize>();

/** The size of trees together. The nodes of a tree are looked at once, however many others are that tree with changes. */
export function sizeOf(trees: Iterable<FileTree>): TreeSize {
  const sum = { bytes: 0, files: 0 };
  for (const tree of trees) add(sum, tree instanceof OverlayTree ? sizeOfOverlay(tree) : sizeOfBase(tree));
  return sum;
}

function sizeOfOverlay({ base, changes }: OverlayTree): TreeSize {
  const sum = { bytes: 0, files: 0 };
  add(sum, sizeOfBase(base));
  add(sum, sizeOfNodes(changes.set.values()));
  const replaced: TreeNode[] = [];
  for (const path of new Set([...changes.set.keys(), ...changes.removed])) {
    const node = base.get(path);
    if (node !== undefined) replaced.push(node);
  }
  const { bytes, files } = sizeOfNodes(replaced);
  return { bytes: sum.bytes - bytes, files: sum.files - files };
}

function sizeOfBase(base: FileTree): TreeSize {
  const size = known.get(base) ?? sizeOfNodes(base.values());
  known.set(base, size);
  return size;
}

function sizeOfNodes(nodes: Iterable<TreeNode>): TreeSize {
  const sum = { bytes: 0, files: 0 };
  for (const node of nodes) {
    if (node.kind === 'directory') continue;
    sum.files += 1;
    if (node.kind === 'file') sum.bytes += node.size;
  }
  return sum;
}

function add(sum: { bytes: number; files: number }, { bytes, files }: TreeSize): void {
  sum.bytes += bytes;
  sum.files += files;
}
