import fc from 'fast-check';
import type { FileTree, TreeNode } from '@caribou/core';
import { mergeChanges } from './merge-tree.js';
import { parentOf } from './tree-nodes.js';

const directory: TreeNode = { kind: 'directory', mode: 0o755 };
const link = (target: string): TreeNode => ({ kind: 'link', target });
const treeOf = (...paths: string[]): FileTree =>
  new Map(paths.map((path) => [path.replace(/\/$/, ''), path.endsWith('/') ? directory : link('theirs')]));
const merge = (tree: FileTree, set: Record<string, TreeNode>, ...removed: string[]): string[] =>
  [...mergeChanges(tree, { set: new Map(Object.entries(set)), removed: new Set(removed) }).keys()].sort();

describe('mergeChanges', () => {
  test('a directory that others have put something into stays, and is made where it is missing', () => {
    expect(merge(treeOf('w/', 'w/d/', 'w/d/mine', 'w/d/theirs'), {}, 'w/d', 'w/d/mine')).toEqual([
      'w',
      'w/d',
      'w/d/theirs',
    ]);
    expect(merge(treeOf(), { 'w/a/b': link('mine') })).toEqual(['w', 'w/a', 'w/a/b']);
  });

  test('where one has a file and the other a directory, the change wins', () => {
    expect(merge(treeOf('w/', 'w/d/', 'w/d/theirs'), { 'w/d': link('mine') })).toEqual(['w', 'w/d']);
    expect(merge(treeOf('w/', 'w/d'), { 'w/d/mine': link('mine') })).toEqual(['w', 'w/d', 'w/d/mine']);
  });

  test('a change below what became a file while it was looked for is left out', () => {
    expect(merge(treeOf('w/'), { 'w/d': link('mine'), 'w/d/x': link('mine') })).toEqual(['w', 'w/d']);
  });

  test('whatever both have done, every node has a directory above it, and the changes are in the result', () => {
    const path = fc
      .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 })
      .map((names) => `w/${names.join('/')}`);
    const kind = fc.boolean().map((isLink) => (isLink ? link('x') : directory));
    const entries = fc.array(fc.tuple(path, kind), { maxLength: 12 });
    fc.assert(
      fc.property(entries, entries, fc.array(path, { maxLength: 6 }), (theirs, mine, removed) => {
        const empty: FileTree = new Map();
        const tree = mergeChanges(empty, { set: new Map(theirs), removed: new Set() });
        const merged = mergeChanges(tree, { set: new Map(mine), removed: new Set(removed) });
        for (const [at] of merged) {
          const parent = parentOf(at);
          if (parent !== undefined) expect(merged.get(parent)?.kind).toBe('directory');
        }
        const set = new Map(mine);
        const isBelowLink = (at: string): boolean =>
          [...set].some(([above, node]) => node.kind === 'link' && at.startsWith(`${above}/`));
        for (const [at, node] of set) if (!isBelowLink(at)) expect(merged.get(at)).toEqual(node);
        expect(merged.size).toBe([...merged.keys()].length);
      }),
      { numRuns: 300 },
    );
  });
});
