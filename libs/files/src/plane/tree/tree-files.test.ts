import type { FileTree, TreeNode } from '@caribou/core';
import { reasonOf } from '../../testing/refusal-reason.js';
import { treeFiles } from './tree-files.js';

const sha256 = 'a'.repeat(64);
const file = (mode = 0o644): TreeNode => ({
  kind: 'file',
  mode,
  size: 3,
  modifiedMs: 1,
  sha256,
  content: { object: 'packs/alice/1', offset: 0 },
});
const directory: TreeNode = { kind: 'directory', mode: 0o755 };
const tree: FileTree = new Map<string, TreeNode>([
  ['uploads', directory],
  ['uploads/b.txt', file()],
  ['uploads/a.txt', file(0o600)],
  ['uploads/.upload-1.part', file()],
  ['uploads/caf\xc3\xa9', file()],
  ['uploads/\xff', file()],
  ['uploads/link', { kind: 'link', target: 'a.txt' }],
  ['uploads/deep', directory],
  ['uploads/deep/c.txt', file()],
]);
const added = { sha256: 'b'.repeat(64), content: { object: 'packs/alice/2', offset: 7 }, size: 9, modifiedMs: 2 };
const reason = (act: () => unknown): Promise<string> => reasonOf((async () => act())());
const at = (name: string): string => `/mnt/user-data/uploads/${name}`;

describe('treeFiles', () => {
  test('lists the regular files of a directory by name, as many as asked for', () => {
    const { files, truncated } = treeFiles.list(tree, 'uploads', 10);
    expect(files.map(({ name }) => name)).toEqual(['a.txt', 'b.txt', 'café', '\ufffd']);
    expect(files[0]).toEqual({ name: 'a.txt', sizeBytes: 3, modifiedMs: 1 });
    expect(truncated).toBe(false);
    expect(treeFiles.list(tree, 'uploads', 3)).toMatchObject({ files: { length: 3 }, truncated: true });
    expect(treeFiles.list(tree, 'outputs', 3)).toEqual({ files: [], truncated: false });
  });

  test.each([
    ['missing', 'not_found'],
    ['missing/file', 'not_found'],
    ['deep', 'is_directory'],
    ['', 'is_directory'],
    ['link', 'not_regular'],
    ['link/x', 'not_regular'],
    ['a.txt/x', 'not_regular'],
    ['../x', 'outside'],
  ])('reading and removing %p is refused as %s', async (path, expected) => {
    expect(await reason(() => treeFiles.lookup(tree, at(path)))).toBe(expected);
    expect(await reason(() => treeFiles.removeFile(tree, at(path)))).toBe(expected);
    expect(await reason(() => treeFiles.replace(tree, at(path), { ...added, expectedSha256: sha256 }))).toBe(expected);
  });

  test.each([
    ['deep', 'is_directory'],
    ['link', 'not_regular'],
    ['link/x', 'not_regular'],
    ['a.txt/x', 'not_regular'],
    ['', 'is_directory'],
  ])('writing %p is refused as %s', async (path, expected) => {
    expect(await reason(() => treeFiles.setFile(tree, at(path), added))).toBe(expected);
  });

  test('a file is added with the directories above it, and replaced with its permissions', () => {
    const changed = treeFiles.setFile(treeFiles.setFile(tree, at('new/d\u00e9ep/x'), added), at('a.txt'), added);
    expect(changed.get('uploads/new/d\xc3\xa9ep')).toEqual({ kind: 'directory', mode: 0o755 });
    expect(treeFiles.lookup(changed, at('new/d\u00e9ep/x'))).toMatchObject({ mode: 0o644, size: 9 });
    expect(treeFiles.lookup(changed, at('a.txt'))).toMatchObject({ mode: 0o600, sha256: added.sha256 });
    expect(treeFiles.lookup(tree, at('a.txt'))).toMatchObject({ sha256 });
    expect(treeFiles.setFile(new Map(), at('x'), added).size).toBe(2);
  });

  test('a replacement is for the expected content only', () => {
    expect(treeFiles.replace(tree, at('a.txt'), { ...added, expectedSha256: 'c'.repeat(64) })).toBeUndefined();
    const changed = treeFiles.replace(tree, at('a.txt'), { ...added, expectedSha256: sha256.toUpperCase() });
    expect(changed?.get('uploads/a.txt')).toMatchObject({ sha256: added.sha256, mode: 0o600 });
  });

  test('a removed file is gone, and its directory stays', () => {
    const changed = treeFiles.removeFile(tree, at('deep/c.txt'));
    expect([changed.has('uploads/deep/c.txt'), changed.has('uploads/deep'), changed.size]).toEqual([false, true, 8]);
  });
});
