import { Readable } from 'node:stream';
import type { FileTree, TreeNode } from '@caribou/core';
import { objectTreeStore } from '../plane/store/object-tree-store.js';
import { MemoryObjects } from '../testing/memory-objects.js';
import { COMPARE_LIMITS, compareTrees } from './compare-trees.js';

const trees = objectTreeStore(new MemoryObjects());

async function file(content: string, mode = 0o644, modifiedMs = 1): Promise<TreeNode> {
  const bytes = Buffer.from(content);
  const [stored] = await trees.store('alice', [{ size: bytes.byteLength, open: () => Readable.from([bytes]) }]);
  if (stored === null || stored === undefined) throw new Error('it was not stored');
  return { kind: 'file', mode, size: bytes.byteLength, modifiedMs, ...stored };
}
const link = (target: string): TreeNode => ({ kind: 'link', target });
const treeOf = (nodes: Readonly<Record<string, TreeNode>>): FileTree =>
  new Map(Object.entries(nodes).map(([name, node]) => [`workspace/${name}`, node]));

describe(compareTrees, () => {
  test('shows files and links that differ in bytes, mode or target, and nothing for times and directories', async () => {
    const before = treeOf({
      same: await file('x'),
      mode: await file('x'),
      link: link('a'),
      gone: link('b'),
      dir: await file('d'),
    });
    const after = treeOf({
      same: await file('x', 0o644, 2),
      mode: await file('x', 0o755),
      link: link('c'),
      dir: { kind: 'directory', mode: 0o755 },
      empty: { kind: 'directory', mode: 0o755 },
    });
    const { changes, added, changed, removed } = await compareTrees(trees, [[before, after]]);
    expect(changes.map(({ path, change, omission }) => [path.split('/').at(-1), change, omission])).toEqual([
      ['dir', 'removed', null],
      ['gone', 'removed', 'link'],
      ['link', 'changed', 'link'],
      ['mode', 'changed', null],
    ]);
    expect([added, changed, removed]).toEqual([0, 2, 2]);
  });

  test('has bounds for files, bytes and diffs, and counts what it does not list', async () => {
    const after = treeOf({ a: await file('1\n'), b: await file('22\n'), c: await file('a\0b'), d: await file('4\n') });
    const limited = async (limits: Partial<typeof COMPARE_LIMITS>) => {
      const { changes, added, truncated } = await compareTrees(trees, [[new Map(), after]], {
        ...COMPARE_LIMITS,
        ...limits,
      });
      return [changes.map(({ omission }) => omission), added, truncated];
    };
    expect(await limited({})).toEqual([[null, null, 'binary', null], 4, false]);
    expect(await limited({ maxChanges: 1 })).toEqual([[null], 4, true]);
    expect(await limited({ maxFileBytes: 2 })).toEqual([[null, 'large', 'large', null], 4, false]);
    expect(await limited({ maxReadBytes: 5 })).toEqual([[null, null, 'limit', 'limit'], 4, false]);
    expect(await limited({ maxDiffChars: 20 })).toEqual([[null, 'limit', 'binary', 'limit'], 4, false]);
  });
});
