import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createErasedFiles } from './erased-files.js';

const going = new AbortController().signal;

describe('createErasedFiles', () => {
  let home: string;
  const thread = { userId: 'alice', threadId: 't1' };
  const dataOf = (threadId = 't1'): string => join(home, 'users', 'alice', 'threads', threadId, 'user-data');
  const asideOf = (name: string): string => join(home, 'users', '.erased', name);
  const fill = (text: string): void => {
    mkdirSync(join(dataOf(), 'outputs'), { recursive: true });
    writeFileSync(join(dataOf(), 'outputs', 'a'), text);
  };

  beforeEach(() => (home = mkdtempSync(join(tmpdir(), 'caribou-erased-'))));
  afterEach(() => execFileSync('rm', ['-rf', home]));

  test('files of a thread are gone for the next thread of its id, and then removed', async () => {
    fill('old');
    const files = createErasedFiles(home);
    const aside = await files.moveThread(thread, '1');
    expect(existsSync(dataOf())).toBe(false);
    fill('new');
    expect(await files.empty(aside, going)).toBe(true);
    expect(readdirSync(asideOf(aside))).toEqual(['moved']);
    expect(await files.drop(aside, 3_600_000)).toBe(false);
    expect(await files.drop(aside, 0)).toBe(true);
    expect(await files.drop(aside, 0)).toBe(true);
    expect(readdirSync(asideOf('.'))).toEqual([]);
    expect(readFileSync(join(dataOf(), 'outputs', 'a'), 'utf8')).toBe('new');
  });

  test.each(['with', 'without'])(
    'a move that comes late never moves the files of a new thread: old one %s files',
    async (kind) => {
      if (kind === 'with') fill('old');
      const files = createErasedFiles(home);
      const aside = await files.moveThread(thread, '1');
      await files.empty(aside, going);
      fill('new');
      expect(await files.moveThread(thread, '1')).toBe(aside);
      expect(readFileSync(join(dataOf(), 'outputs', 'a'), 'utf8')).toBe('new');
    },
  );

  test('a move that died before its marker is finished by the next', async () => {
    fill('old');
    const files = createErasedFiles(home);
    const aside = await files.moveThread(thread, '1');
    rmSync(join(asideOf(aside), 'moved'));
    expect(await files.moveThread(thread, '1')).toBe(aside);
    expect(readdirSync(asideOf(aside)).sort()).toEqual(['moved', 'user-data']);
  });

  test('links are removed and not followed, closed directories are opened, depth beyond any path is no matter', async () => {
    fill('old');
    const outside = join(home, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'canary'), 'canary');
    symlinkSync(outside, join(dataOf(), 'link'));
    execFileSync('mkfifo', [join(dataOf(), 'fifo')]);
    mkdirSync(join(dataOf(), 'closed', 'inner'), { recursive: true });
    execFileSync('chmod', ['-R', '000', join(dataOf(), 'closed')]);
    execFileSync('bash', [
      '-c',
      `cd "$0"; for i in $(seq 120); do n=$(printf 'd%.0s' {1..100}); mkdir $n && cd -P $n; done`,
      dataOf(),
    ]);
    const files = createErasedFiles(home);
    const aside = await files.moveThread(thread, '1');
    expect(await files.empty(aside, going)).toBe(true);
    expect(readdirSync(asideOf(aside))).toEqual(['moved']);
    expect(readFileSync(join(outside, 'canary'), 'utf8')).toBe('canary');
  });

  test('what was stopped in the middle is finished by the next', async () => {
    fill('old');
    const files = createErasedFiles(home);
    const aside = await files.moveUser('alice', '1');
    expect(await files.empty(aside, AbortSignal.abort())).toBe(false);
    expect(existsSync(join(home, 'users', 'alice'))).toBe(false);
    expect(await files.empty(aside, going)).toBe(true);
  });
});
