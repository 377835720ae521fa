import type { FileNode, FileTree, FindContent } from '@caribou/core';

interface Candidate {
  readonly path: string;
  /** Bytes. */
  readonly stamp: { readonly size: number };
}

/**
 * Finds contents of the trees that a candidate may have by its size: those of its own path, and of all others unless the candidates
 * together have fewer bytes than the trees have nodes. To look at a node takes longer than to store a byte once more.
 */
export function contentsIn(trees: readonly FileTree[], candidates: readonly Candidate[]): FindContent {
  const alike = new Map<string, FileNode>();
  const sizes = new Set(candidates.map(({ stamp }) => stamp.size));
  const nodes = trees.reduce((sum, tree) => sum + tree.size, 0);
  const bytes = candidates.reduce((sum, { stamp }) => sum + stamp.size, 0);
  for (const tree of trees) {
    const considered = bytes < nodes ? candidates.map(({ path }) => tree.get(path)) : tree.values();
    for (const node of considered) if (node?.kind === 'file' && sizes.has(node.size)) alike.set(node.sha256, node);
  }
  return ({ size, sha256 }) => {
    const file = alike.get(sha256);
    return file?.size === size ? file.content : undefined;
  };
}
