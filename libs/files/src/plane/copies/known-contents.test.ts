import type { FileTree, TreeNode } from '@caribou/core';
import { contentsIn } from './known-contents.js';

const content = (object: string) => ({ object, offset: 0 });
const file = (size: number, sha256: string): TreeNode => ({
  kind: 'file',
  mode: 0o644,
  modifiedMs: 0,
  size,
  sha256,
  content: content(`packs/u/${sha256}`),
});
const treeOf = (files: number): FileTree =>
  new Map(Array.from({ length: files }, (_, at) => [`workspace/f${at}`, file(100, `s${at}`)]));
const candidate = (path: string, size: number) => ({ path, stamp: { size } });

describe('contentsIn', () => {
  test('contents are found under any path, in any tree', () => {
    const trees = [treeOf(20), new Map([['uploads/x', file(100, 'other')]])];
    const find = contentsIn(trees, [candidate('workspace/moved', 100)]);
    expect(find({ size: 100, sha256: 's7' })).toEqual(content('packs/u/s7'));
    expect(find({ size: 100, sha256: 'other' })).toEqual(content('packs/u/other'));
    expect(find({ size: 100, sha256: 'unknown' })).toBeUndefined();
    expect(find({ size: 99, sha256: 's7' })).toBeUndefined();
  });

  test('few bytes are looked for at their own path only', () => {
    const find = contentsIn([treeOf(2_000)], [candidate('workspace/f7', 100), candidate('workspace/new', 100)]);
    expect(find({ size: 100, sha256: 's7' })).toEqual(content('packs/u/s7'));
    expect(find({ size: 100, sha256: 's8' })).toBeUndefined();
  });

  test('a file without bytes, and nothing to store, look at no other node', () => {
    expect(contentsIn([treeOf(20)], [])({ size: 100, sha256: 's1' })).toBeUndefined();
    expect(contentsIn([treeOf(20)], [candidate('workspace/f1', 0)])({ size: 100, sha256: 's1' })).toBeUndefined();
  });
});
