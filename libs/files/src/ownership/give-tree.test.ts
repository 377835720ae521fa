import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@caribou/testing';
import { giveTree } from './give-tree.js';

const folder = temporaryFolder();
const [BEFORE, AFTER] = [
  { uid: 23_001, gid: 10_001 },
  { uid: 23_002, gid: 10_001 },
];
const ifRoot = process.getuid?.() === 0 ? test : test.skip;

let count = 0;
/** A thread's data directory with one file, all of it of the user from before. */
function newTree(): { readonly data: string; readonly workspace: string } {
  const data = join(folder, `data-${(count += 1)}`);
  const workspace = join(data, 'workspace');
  mkdirSync(workspace, { recursive: true });
  for (const path of [data, workspace]) chownSync(path, BEFORE.uid, BEFORE.gid);
  return { data, workspace };
}

function addFile(path: string, mode = 0o644): string {
  writeFileSync(path, 'content');
  chownSync(path, BEFORE.uid, BEFORE.gid);
  chmodSync(path, mode);
  return path;
}

const ownerOf = (path: string): number => lstatSync(path).uid;

describe('giveTree', () => {
  ifRoot('gives all entries, of whatever kind, to the new owner, and takes set-id bits from files', async () => {
    const { data, workspace } = newTree();
    const deep = join(workspace, 'a/b/c');
    mkdirSync(deep, { recursive: true });
    chmodSync(join(workspace, 'a'), 0o000);
    const inner = addFile(join(deep, 'inner'));
    const setuid = addFile(join(workspace, 'setuid'), 0o6755);
    spawnSync('mkfifo', [join(workspace, 'fifo')]);

    await giveTree(data, AFTER);

    const entries = [data, workspace, join(workspace, 'a'), deep, inner, setuid, join(workspace, 'fifo')];
    expect(entries.map(ownerOf)).toEqual(entries.map(() => AFTER.uid));
    expect(statSync(setuid).mode & 0o7777).toBe(0o755);
  });

  ifRoot('changes links themselves, and nothing that they lead to', async () => {
    const { data, workspace } = newTree();
    const outside = join(folder, `outside-${count}`);
    mkdirSync(outside);
    const secret = addFile(join(outside, 'secret'));
    symlinkSync(secret, join(workspace, 'file'));
    symlinkSync(outside, join(workspace, 'directory'));
    symlinkSync(outside, join(data, 'uploads'));

    await giveTree(data, AFTER);

    expect([ownerOf(secret), ownerOf(outside)]).toEqual([BEFORE.uid, 0]);
    expect(['file', 'directory'].map((name) => ownerOf(join(workspace, name)))).toEqual([AFTER.uid, AFTER.uid]);
  });

  ifRoot('that fails leaves the mark with the old owner, and the next one finishes', async () => {
    const { data, workspace } = newTree();
    const depth = 257;
    const nested = join(workspace, 'x/'.repeat(depth));
    mkdirSync(nested, { recursive: true });

    await expect(giveTree(data, AFTER)).rejects.toThrow('nested deeper than 256 levels');
    expect(ownerOf(data)).toBe(BEFORE.uid);

    spawnSync('rm', ['-r', join(workspace, 'x')]);
    await giveTree(data, AFTER);
    expect(ownerOf(data)).toBe(AFTER.uid);
  });
});
