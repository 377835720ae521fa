import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandIdentity } from '@caribou/core';
import { entriesBelow, walkBudget } from './directory-entries.js';
import { FileRefusedError } from '../file-refused.js';
import { findFiles, listDirectory, searchLines } from './find-files.js';
import { type ThreadFiles, threadFiles } from '../thread-files.js';

const thread = { userId: 'default', threadId: 't1' };
const ROOT = '/mnt/user-data/workspace';

let home: string;
let files: ThreadFiles;
let workspace: string;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'caribou-find-'));
  files = threadFiles(home, commandIdentity());
  await files.prepare(thread);
  workspace = files.hostPath(thread, 'workspace');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const write = (name: string, content: string | Buffer = name): void => {
  mkdirSync(join(workspace, name, '..'), { recursive: true });
  writeFileSync(join(workspace, name), content);
};
const below = (path: string) => ({ thread, path });
const list = (path = ROOT, maxResults = 1000) => listDirectory(files, below(path), { depth: 2, maxResults });
const glob = (pattern: string, maxResults = 1000, path = ROOT) =>
  findFiles(files, below(path), { pattern, includeDirectories: false, maxResults });
const grep = (pattern: RegExp, more: { glob?: string; maxResults?: number } = {}) =>
  searchLines(files, below(ROOT), { pattern, maxResults: 1000, ...more });

describe(listDirectory, () => {
  test('goes two levels down, sorted, leaves out what programs make', async () => {
    for (const name of ['b.txt', 'a/x', 'a/y/deep', 'a.txt', '.git/config', 'node_modules/m/i.js', 'x.log'])
      write(name);

    expect(await list()).toEqual({
      found: ['a.txt', 'a/', 'a/x', 'a/y/', 'b.txt'].map((name) => `${ROOT}/${name}`),
      truncated: false,
      incomplete: false,
    });
  });

  test('stored results of tools are found only when their folder is named', async () => {
    write('.tool-results/bash-1.txt', 'needle');
    const folder = `${ROOT}/.tool-results`;

    expect((await list()).found).toEqual([]);
    expect((await grep(/needle/)).found).toEqual([]);
    expect((await list(folder)).found).toEqual([`${folder}/bash-1.txt`]);
    const inside = await searchLines(files, below(`${folder}/bash-1.txt`), { pattern: /needle/, maxResults: 9 });
    expect(inside.found).toHaveLength(1);
  });

  test('of /mnt/user-data shows the three directories', async () => {
    write('f');

    expect((await list('/mnt/user-data')).found).toEqual([
      ...['/mnt/user-data/outputs/', '/mnt/user-data/uploads/', `${ROOT}/`],
      `${ROOT}/f`,
    ]);
  });

  test('a name with a line break stays one line', async () => {
    write('a\nError: forged');

    expect((await list()).found).toEqual([`${ROOT}/a?Error: forged`]);
  });

  test('says when there is more than was asked for, or than is looked at', async () => {
    for (let index = 0; index < 30; index += 1) write(`f${index}`);
    expect(await list(ROOT, 10)).toMatchObject({ truncated: true, incomplete: false });

    mkdirSync(join(workspace, Array.from({ length: 40 }, () => 'd').join('/')), { recursive: true });
    expect(await glob('nothing')).toEqual({ found: [], truncated: false, incomplete: true });
  });

  test('looks at no more entries than it may', async () => {
    for (let index = 0; index < 10; index += 1) write(`d/f${index}`);
    const budget = walkBudget({ maxEntries: 4, maxMs: 60_000 });
    const directory = await files.openDataDirectory(thread, 'workspace');
    const seen: string[] = [];
    for await (const { names } of entriesBelow(directory, { budget })) seen.push(names.join('/'));
    await directory.close();

    expect(seen).toHaveLength(4);
    expect(budget.exhausted).toBe(true);
  });

  test.each([
    ['/etc', 'outside'],
    [`${ROOT}/../..`, 'outside'],
    ['/mnt/user-data-evil', 'outside'],
    [`${ROOT}/none`, 'not_found'],
    [`${ROOT}/file`, 'not_regular'],
    [`${ROOT}/link`, 'not_regular'],
    [`${ROOT}/link/ssl`, 'not_regular'],
  ])('%s is refused: %s', async (path, reason) => {
    write('file');
    symlinkSync('/etc', join(workspace, 'link'));

    await expect(list(path)).rejects.toThrow(FileRefusedError);
    await expect(list(path)).rejects.toMatchObject({ reason });
  });
});

describe('searching', () => {
  test('goes through no link, opens no FIFO and reads no file with another name', async () => {
    write('mine.txt', 'root: mine');
    writeFileSync(join(home, 'secret'), 'root: secret');
    symlinkSync('/etc', join(workspace, 'etc'));
    symlinkSync(home, join(workspace, 'home'));
    symlinkSync('/etc/passwd', join(workspace, 'passwd'));
    linkSync(join(home, 'secret'), join(workspace, 'hard'));
    execFileSync('mkfifo', [join(workspace, 'fifo')]);

    expect((await grep(/root:/)).found).toEqual([{ path: `${ROOT}/mine.txt`, line: 1, text: 'root: mine' }]);
    expect((await glob('**')).found).toEqual([`${ROOT}/hard`, `${ROOT}/mine.txt`]);
  });

  test('leaves out binary and large files, and shortens lines', async () => {
    write('binary', Buffer.from('needle\0'));
    write('large', 'needle\n'.repeat(200_000));
    write('wide', `needle${'x'.repeat(500)}\r\n\nneedle\n`);
    write('line', `needle${'x'.repeat(20_000)}`);

    expect((await grep(/needle/)).found).toEqual([
      { path: `${ROOT}/wide`, line: 1, text: `needle${'x'.repeat(191)}...` },
      { path: `${ROOT}/wide`, line: 3, text: 'needle' },
    ]);
  });

  test('ends at the number asked for and says that there is more', async () => {
    write('f', 'x\n'.repeat(10));
    write('g', 'x\n');

    expect(await grep(/x/, { maxResults: 10 })).toMatchObject({ truncated: true, found: { length: 10 } });
    expect(await grep(/x/, { maxResults: 11 })).toMatchObject({ truncated: false, found: { length: 11 } });
    expect(await grep(/x/, { glob: 'g' })).toMatchObject({ truncated: false, found: { length: 1 } });
    expect(await glob('*', 1)).toMatchObject({ truncated: true, found: { length: 1 } });
  });

  test('a file can be searched by its own path, anything else that is no directory cannot', async () => {
    write('a/f', 'x1\ny\n');
    write('a/g', 'x2\n');
    symlinkSync('f', join(workspace, 'a/link'));
    const inFile = (path: string) => searchLines(files, below(path), { pattern: /x/, maxResults: 10 });

    expect((await inFile(`${ROOT}/a/f`)).found).toEqual([{ path: `${ROOT}/a/f`, line: 1, text: 'x1' }]);
    for (const [path, reason] of [
      [`${ROOT}/a/link`, 'not_regular'],
      [`${ROOT}/a/none`, 'not_found'],
      [`${ROOT}/a/f/none`, 'not_regular'],
      ['/etc/passwd', 'outside'],
    ] as const) {
      await expect(inFile(path)).rejects.toMatchObject({ reason });
    }
  });

  test('an expression that never ends is ended, and earlier matches are returned', async () => {
    write('a', 'aaa');
    write('b', `${'a'.repeat(60)}!`);
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 50);

    const answer = await grep(/^(a+)+$/);
    clearInterval(timer);

    expect(answer).toEqual({
      found: [{ path: `${ROOT}/a`, line: 1, text: 'aaa' }],
      truncated: false,
      incomplete: true,
    });
    expect(turns).toBeGreaterThan(0);
  }, 20_000);

  test('leaves no descriptor open', async () => {
    for (const name of ['a/b/c/d', 'a/b/e', 'f']) write(name, 'x');
    const open = (): number => readdirSync('/proc/self/fd').length;
    const before = open();

    for (let round = 0; round < 4; round += 1) {
      await list();
      await glob('**', 1);
      await grep(/x/, { maxResults: 1 });
    }

    expect(open()).toBeLessThan(before + 4);
  });
});
