import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandIdentity } from '@caribou/core';
import { userFiles } from './user-files.js';

const from = { userId: 'ann', threadId: 't1' };
const to = { userId: 'ann', threadId: 't2' };
let home: string;
let files: ReturnType<typeof userFiles>;

const at = (thread: typeof from, path: string): string =>
  join(home, 'users', thread.userId, 'threads', thread.threadId, 'user-data', path);
const write = (path: string, content: string, mode = 0o644): void => {
  mkdirSync(join(at(from, path), '..'), { recursive: true });
  writeFileSync(at(from, path), content, { mode });
};

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'caribou-copy-'));
  files = userFiles(home, { workspaceBytes: 10_000_000, workspaceFiles: 12, minFreeBytes: 0 });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe('copyAll', () => {
  test('copies files of every directory with their folders, modes and owner, names that lists ignore too', async () => {
    const large = 'x'.repeat(2_500_000);
    write('workspace/src/deep/run.sh', 'echo', 0o755);
    write('workspace/node_modules/a.js', 'a');
    write('uploads/large.txt', large);
    write('outputs/empty.md', '');

    expect(await files.copyAll(from, to)).toEqual({ files: 4, complete: true });
    expect(readFileSync(at(to, 'uploads/large.txt'), 'utf8')).toBe(large);
    expect(readFileSync(at(to, 'outputs/empty.md'), 'utf8')).toBe('');
    expect(existsSync(at(to, 'workspace/node_modules/a.js'))).toBe(true);
    const { mode, uid } = statSync(at(to, 'workspace/src/deep/run.sh'));
    expect(mode & 0o7777).toBe(0o755);
    expect(uid).toBe(process.getuid?.() === 0 ? commandIdentity().uid : process.getuid?.());
  });

  test('links of both kinds are not copied', async () => {
    const secret = join(home, 'secret');
    writeFileSync(secret, 'secret');
    write('workspace/kept.txt', 'kept', 0o644);
    symlinkSync(secret, at(from, 'workspace/link.txt'));
    symlinkSync('/etc', at(from, 'workspace/folder'));
    linkSync(secret, at(from, 'workspace/hard.txt'));

    expect(await files.copyAll(from, to)).toEqual({ files: 1, complete: true });
    const copied = ['kept.txt', 'link.txt', 'folder', 'hard.txt'].map((name) =>
      existsSync(at(to, `workspace/${name}`)),
    );
    expect(copied).toEqual([true, false, false, false]);
  });

  test('stops at the limits of a thread and says so', async () => {
    for (let file = 0; file < 20; file += 1) write(`workspace/${file}.txt`, 'x');

    const { files: count, complete } = await files.copyAll(from, to);

    expect(complete).toBe(false);
    expect(count).toBeGreaterThan(5);
    expect(count).toBeLessThan(13);
  });

  test('a thread without files gives none', async () => {
    expect(await files.copyAll(from, to)).toEqual({ files: 0, complete: true });
  });
});
