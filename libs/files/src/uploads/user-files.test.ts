import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandIdentity } from '@caribou/core';
import { reasonOf } from '../testing/refusal-reason.js';
import { type UserFiles, userFiles } from './user-files.js';

// One test makes 10,000 files.
const thread = { userId: 'default', threadId: 't1' };
let home: string;
let files: UserFiles;
let uploads: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'caribou-uploads-'));
  files = userFiles(home);
  uploads = join(home, 'users', 'default', 'threads', 't1', 'user-data', 'uploads');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield await Promise.resolve(Buffer.from(text));
}

async function upload(name: string, ...texts: readonly string[]): Promise<void> {
  const intake = await files.openIntake(thread);
  try {
    const staged = await intake.receive(chunks(...texts), 1_000);
    await staged.publish(name);
  } finally {
    await intake.close();
  }
}

describe('userFiles', () => {
  test('receives a stream in chunks, publishes it whole, owned by the user of commands', async () => {
    await upload('a.txt', 'one ', 'two');

    expect(readFileSync(join(uploads, 'a.txt'), 'utf8')).toBe('one two');
    expect(statSync(join(uploads, 'a.txt')).mode & 0o7777).toBe(0o644);
    expect(statSync(join(uploads, 'a.txt')).uid).toBe(commandIdentity().uid);
    expect(readdirSync(uploads)).toEqual(['a.txt']);
  });

  test('replaces a file of the same name, and shows no part before it is published', async () => {
    await upload('a.txt', 'old');
    const intake = await files.openIntake(thread);
    const staged = await intake.receive(chunks('new'), 1_000);
    expect(readFileSync(join(uploads, 'a.txt'), 'utf8')).toBe('old');
    expect((await files.list(thread, 'uploads', 10)).files.map(({ name }) => name)).toEqual(['a.txt']);

    const entry = await staged.publish('a.txt');
    await intake.close();
    expect(entry).toEqual({ name: 'a.txt', sizeBytes: 3, modifiedMs: expect.any(Number) as number });
    expect(readFileSync(join(uploads, 'a.txt'), 'utf8')).toBe('new');
  });

  test('leaves nothing of a file over the limit, of a stream that breaks, or of what was not published', async () => {
    const intake = await files.openIntake(thread);
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield* chunks('half');
      throw new Error('cut');
    }
    expect(await reasonOf(intake.receive(chunks('12345', '67890'), 9))).toBe('too_large');
    await expect(intake.receive(broken(), 100)).rejects.toThrow('cut');
    await intake.receive(chunks('whole'), 100);
    expect(readdirSync(uploads)).toHaveLength(3);

    await intake.close();
    expect(readdirSync(uploads)).toEqual([]);
  });

  test('removes parts that a killed process left, and no fresh ones', async () => {
    await upload('a.txt', 'x');
    writeFileSync(join(uploads, '.upload-old.part'), 'half');
    utimesSync(join(uploads, '.upload-old.part'), 1, 1);
    writeFileSync(join(uploads, '.upload-new.part'), 'half');
    await upload('b.txt', 'y');

    expect(readdirSync(uploads).sort()).toEqual(['.upload-new.part', 'a.txt', 'b.txt']);
  });

  test.each<[string, string, (target: string, outside: string) => void]>([
    ['a symbolic link', 'not_regular', (target, outside) => symlinkSync(outside, target)],
    ['a dangling link', 'not_regular', (target) => symlinkSync('/nowhere', target)],
    ['a FIFO', 'not_regular', (target) => execFileSync('mkfifo', [target])],
    ['a directory', 'is_directory', (target) => mkdirSync(target)],
  ])('refuses %s as destination, and to open or remove it', async (_, reason, plant) => {
    await upload('a.txt', 'x');
    const outside = join(home, 'canary');
    writeFileSync(outside, 'canary');
    plant(join(uploads, 'planted'), outside);

    expect(await reasonOf(upload('planted', 'evil'))).toBe(reason);
    expect(await reasonOf(files.open(thread, '/mnt/user-data/uploads/planted'))).toBe(reason);
    expect(await reasonOf(files.remove(thread, '/mnt/user-data/uploads/planted'))).toBe(reason);
    expect(readFileSync(outside, 'utf8')).toBe('canary');
    expect((await files.list(thread, 'uploads', 10)).files.map(({ name }) => name)).toEqual(['a.txt']);
    expect(readdirSync(uploads).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  test('reads no file with a second name, and an upload over it leaves the other name as it was', async () => {
    await upload('a.txt', 'x');
    const outside = join(home, 'canary');
    writeFileSync(outside, 'canary');
    linkSync(outside, join(uploads, 'twin'));

    expect(await reasonOf(files.open(thread, '/mnt/user-data/uploads/twin'))).toBe('not_regular');
    await upload('twin', 'mine');
    expect(readFileSync(outside, 'utf8')).toBe('canary');
  });

  test('lists by name, bounded, and nothing for a thread without files', async () => {
    expect(await files.list(thread, 'uploads', 10)).toEqual({ files: [], truncated: false });
    expect(existsSync(uploads)).toBe(false);
    await upload('b', 'x');
    await upload('a', 'x');
    expect((await files.list(thread, 'uploads', 10)).files.map(({ name }) => name)).toEqual(['a', 'b']);
    for (let index = 0; index < 10_000; index += 1) writeFileSync(join(uploads, `many-${index}`), '');
    const { files: shown, truncated } = await files.list(thread, 'uploads', 100);
    expect({ count: shown.length, truncated }).toEqual({ count: 100, truncated: true });
  });

  test('removes a file, and refuses a missing one', async () => {
    await upload('a.txt', 'x');
    await files.remove(thread, '/mnt/user-data/uploads/a.txt');
    expect(await reasonOf(files.remove(thread, '/mnt/user-data/uploads/a.txt'))).toBe('not_found');
    expect(await reasonOf(files.remove(thread, '/mnt/user-data/uploads/../a.txt'))).toBe('outside');
  });

  test('a new file takes no name that anything has, and is like any other afterwards', async () => {
    await upload('a.md', 'mine');
    symlinkSync('/nowhere', join(uploads, 'link.md'));
    const intake = await files.openIntake(thread);
    const staged = await intake.receive(chunks('made'), 1_000);
    expect(await staged.publishNew('a.md')).toBeNull();
    expect(await staged.publishNew('link.md')).toBeNull();
    expect(await staged.publishNew('a_1.md')).toEqual({ name: 'a_1.md', sizeBytes: 4, modifiedMs: staged.modifiedMs });
    await intake.close();

    expect(readdirSync(uploads).sort()).toEqual(['a.md', 'a_1.md', 'link.md']);
    expect(readFileSync(join(uploads, 'a.md'), 'utf8')).toBe('mine');
    expect(statSync(join(uploads, 'a_1.md')).nlink).toBe(1);
    await (await files.open(thread, '/mnt/user-data/uploads/a_1.md')).close();
  });

  test('removes a file only while it is the one that was seen', async () => {
    await upload('a.md', 'made');
    const [seen] = (await files.list(thread, 'uploads', 10)).files;
    if (seen === undefined) throw new Error('nothing is listed');
    await upload('a.md', 'mine');
    expect(await files.removeUnchanged(thread, 'uploads', seen)).toBe(false);
    expect(readFileSync(join(uploads, 'a.md'), 'utf8')).toBe('mine');

    const [now] = (await files.list(thread, 'uploads', 10)).files;
    expect(await files.removeUnchanged(thread, 'uploads', now ?? seen)).toBe(true);
    expect(await files.removeUnchanged(thread, 'uploads', now ?? seen)).toBe(false);
    expect(await files.removeUnchanged({ ...thread, threadId: 'none' }, 'uploads', seen)).toBe(false);
    expect(readdirSync(uploads)).toEqual([]);
  });
});
