import fc from 'fast-check';
import type { FileTree, TreeNode } from '@caribou/core';
import { OverlayTree } from './overlay-tree.js';
import { sizeOf } from './tree-size.js';

const file = (size: number): TreeNode => ({
  kind: 'file',
  mode: 0o644,
  modifiedMs: 0,
  size,
  sha256: `${size}`,
  content: { object: 'packs/u/1', offset: 0 },
});
const node: fc.Arbitrary<TreeNode> = fc.oneof(
  fc.nat(1_000).map(file),
  fc.constant<TreeNode>({ kind: 'directory', mode: 0o755 }),
  fc.constant<TreeNode>({ kind: 'link', target: 'x' }),
);
const path = fc.nat(12).map((number) => `workspace/${number}`);
const nodes = fc.array(fc.tuple(path, node), { maxLength: 12 });
const changes = fc.record({
  set: nodes.map((entries) => new Map(entries)),
  removed: fc.array(path, { maxLength: 6 }).map((paths) => new Set(paths)),
});

function counted(trees: readonly FileTree[]): { readonly bytes: number; readonly files: number } {
  const all = trees.flatMap((tree) => [...tree.values()]).filter(({ kind }) => kind !== 'directory');
  return {
    bytes: all.reduce((sum, each) => sum + (each.kind === 'file' ? each.size : 0), 0),
    files: all.length,
  };
}

test('trees under changes have the size of their nodes, however often they are changed', () => {
  fc.assert(
    fc.property(nodes, fc.array(changes, { maxLength: 4 }), nodes, (first, all, other) => {
      const others: FileTree = new Map(other);
      let tree: FileTree = new Map(first);
      expect(sizeOf([tree, others])).toEqual(counted([tree, others]));
      for (const each of all) {
        tree = OverlayTree.of(tree, each);
        expect(sizeOf([tree, others])).toEqual(counted([tree, others]));
      }
    }),
  );
});
