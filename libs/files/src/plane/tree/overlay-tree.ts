import type { FileTree, TreeNode } from '@caribou/core';

/** What differs from a tree: nodes that are added or replaced, and paths that are gone. */
export interface TreeChanges {
  readonly set: ReadonlyMap<string, TreeNode>;
  readonly removed: ReadonlySet<string>;
}

/**
 * A tree with changes, which shares the tree that it was made from: one changed file of 20,000 costs no copy. Layers never
 * stack: an overlay over an overlay has the changes of both.
 */
export class OverlayTree implements ReadonlyMap<string, TreeNode> {
  readonly size: number;

  private constructor(
    readonly base: FileTree,
    readonly changes: TreeChanges,
  ) {
    let size = base.size - changes.removed.size;
    for (const path of changes.set.keys()) if (!base.has(path)) size += 1;
    this.size = size;
  }

  /** The tree with all nodes under changes of it that were made by another overlay of it, which is not copied. */
  static over(base: FileTree, changes: TreeChanges): OverlayTree {
    return new OverlayTree(base, changes);
  }

  /** `tree` with `changes`; a path in both `set` and `removed` is set. */
  static of(tree: FileTree, changes: TreeChanges): OverlayTree {
    const base = tree instanceof OverlayTree ? tree.base : tree;
    const set = new Map(tree instanceof OverlayTree ? tree.changes.set : []);
    const removed = new Set(tree instanceof OverlayTree ? tree.changes.removed : []);
    for (const path of changes.removed) {
      set.delete(path);
      if (base.has(path)) removed.add(path);
    }
    for (const [path, node] of changes.set) {
      set.set(path, node);
      removed.delete(path);
    }
    return new OverlayTree(base, { set, removed });
  }

  get(path: string): TreeNode | undefined {
    return this.changes.set.get(path) ?? (this.changes.removed.has(path) ? undefined : this.base.get(path));
  }

  has(path: string): boolean {
    return this.changes.set.has(path) || (!this.changes.removed.has(path) && this.base.has(path));
  }

  *entries(): MapIterator<[string, TreeNode]> {
    const { set, removed } = this.changes;
    for (const entry of this.base) {
      if (removed.has(entry[0])) continue;
      const changed = set.get(entry[0]);
      yield changed === undefined ? entry : [entry[0], changed];
    }
    for (const entry of set) if (!this.base.has(entry[0])) yield entry;
  }

  *keys(): MapIterator<string> {
    for (const [path] of this.entries()) yield path;
  }

  *values(): MapIterator<TreeNode> {
    for (const [, node] of this.entries()) yield node;
  }

  [Symbol.iterator](): MapIterator<[string, TreeNode]> {
    return this.entries();
  }

  forEach(visit: (node: TreeNode, path: string, tree: ReadonlyMap<string, TreeNode>) => void): void {
    for (const [path, node] of this.entries()) visit(node, path, this);
  }
}

/** A tree with one more node, or one that is replaced or removed. */
export const withNode = (tree: FileTree, path: string, node: TreeNode | undefined): FileTree =>
  OverlayTree.of(
    tree,
    node === undefined
      ? { set: new Map(), removed: new Set([path]) }
      : { set: new Map([[path, node]]), removed: new Set() },
  );
