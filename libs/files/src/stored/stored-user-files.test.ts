import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConflictError } from '@caribou/contracts';
import type { FileGenerations, OpenFile, ThreadKey, TreeStore } from '@caribou/core';
import { redisFileGenerations } from '@caribou/state';
import { type StoreFixture, thread, useStore } from '@caribou/testing';
import { sha256Of } from '../file-hash.js';
import { objectTreeStore } from '../plane/store/object-tree-store.js';
import { MemoryObjects } from '../testing/memory-objects.js';
import { SMALL } from '../testing/plane-fixture.js';
import { reasonOf } from '../testing/refusal-reason.js';
import type { UploadIntake } from '../uploads/upload-intake.js';
import type { UserFiles } from '../uploads/user-files.js';
import { storedUserFiles } from './stored-user-files.js';

const UPLOADS = '/mnt/user-data/uploads';
const homeDir = mkdtempSync(join(tmpdir(), 'caribou-stored-'));
/** Where files are while they come in. */
const spoolDir = join(homeDir, 'receiving');
afterAll(() => rmSync(homeDir, { recursive: true, force: true }));

let store: StoreFixture;
let generations: FileGenerations;
let trees: TreeStore;
let files: UserFiles;
let key: ThreadKey;
/** Runs when the gateway asks a manager to store its changes. */
let onAsked: (managerId: string) => Promise<void>;

/** A gateway on the same store. */
const gateway = (more: Partial<Parameters<typeof storedUserFiles>[0]> = {}): UserFiles =>
  storedUserFiles({
    trees,
    generations,
    homeDir,
    limits: { workspaceBytes: 1_000, workspaceFiles: 5 },
    askToPublish: (_thread, { managerId }) => onAsked(managerId),
    ...more,
  });

useStore((opened) => {
  store = opened;
  generations = redisFileGenerations(store.redis);
  trees = objectTreeStore(new MemoryObjects(), SMALL);
  onAsked = () => Promise.reject(new Error('nobody is to be asked'));
  files = gateway();
  key = thread();
});

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield await Promise.resolve(Buffer.from(text));
}

async function withIntake<T>(of: UserFiles, work: (intake: UploadIntake) => Promise<T>): Promise<T> {
  const intake = await of.openIntake(key);
  try {
    return await work(intake);
  } finally {
    await intake.close();
  }
}

const upload = (name: string, content: string, of = files) =>
  withIntake(of, async (intake) => (await intake.receive(chunks(content), 1_000)).publish(name));

async function textOf(file: OpenFile, range = { start: 0, end: file.size - 1 }): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of file.stream(range)) parts.push(part as Buffer);
  await file.close();
  return Buffer.concat(parts).toString();
}
const read = async (name: string, of = files): Promise<string> => textOf(await of.open(key, `${UPLOADS}/${name}`));
const names = async (of = key): Promise<string[]> =>
  (await files.list(of, 'uploads', 100)).files.map(({ name }) => name);

describe('uploads', () => {
  test('several files of a request are one after the other visible to every gateway, and nothing stays on the disk', async () => {
    const other = gateway();
    await withIntake(files, async (intake) => {
      const first = await intake.receive(chunks('on', 'e'), 100);
      const second = await intake.receive(chunks('x'.repeat(700)), 900);
      expect(await first.publish('a.txt')).toEqual({ name: 'a.txt', sizeBytes: 3, modifiedMs: first.modifiedMs });
      expect(await names()).toEqual(['a.txt']);
      await second.publish('b.txt');
      expect(await intake.isCurrent()).toBe(true);
    });
    expect(await other.list(key, 'uploads', 1)).toMatchObject({
      files: [{ name: 'a.txt', sizeBytes: 3 }],
      truncated: true,
    });
    expect(await read('b.txt', other)).toBe('x'.repeat(700));
    expect(await generations.head(key)).toMatchObject({ bytes: 703, files: 2 });
    expect(readdirSync(spoolDir)).toEqual([]);
  });

  test('a file of the same name is replaced by `publish` and left by `publishNew`', async () => {
    await upload('a.txt', 'old');
    await withIntake(files, async (intake) => {
      const staged = await intake.receive(chunks('new'), 100);
      expect(await staged.publishNew('a.txt')).toBeNull();
      expect(await read('a.txt')).toBe('old');
      expect(await staged.publishNew('b.txt')).toMatchObject({ name: 'b.txt', sizeBytes: 3 });
      await staged.publish('a.txt');
    });
    expect([await read('a.txt'), await read('b.txt')]).toEqual(['new', 'new']);
  });

  test('an empty file is a file', async () => {
    await upload('empty', '');
    expect(await read('empty')).toBe('');
  });

  test('what is too large, breaks off or exceeds the quota leaves nothing', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield* chunks('half');
      throw new Error('cut');
    }
    await withIntake(files, async (intake) => {
      expect(await reasonOf(intake.receive(chunks('12345', '67890'), 9))).toBe('too_large');
      await expect(intake.receive(broken(), 100)).rejects.toThrow('cut');
      expect(readdirSync(spoolDir)).toEqual([]);
      await intake.receive(chunks('x'.repeat(600)), 900);
      await expect(intake.receive(chunks('x'.repeat(600)), 900)).rejects.toThrow(
        /take 1.2 KiB, and may take 1000 bytes/,
      );
    });
    expect(await names()).toEqual([]);
    for (const name of ['1', '2', '3', '4', '5']) await upload(name, 'x');
    await expect(upload('6', 'x')).rejects.toThrow('6 files, and may have 5');
    expect(await names()).toHaveLength(5);
    expect(readdirSync(spoolDir)).toEqual([]);
  });

  test('a name of a directory is refused', async () => {
    await upload('a', 'x');
    expect(await reasonOf(upload('a/b', 'x'))).toBe('not_regular');
  });

  test('of gateways that change files at once, each change is made', async () => {
    const gateways = [gateway(), gateway(), gateway(), gateway()];
    await Promise.all(gateways.map((each, at) => upload(`${at}.txt`, `by ${at}`, each)));
    expect(await names()).toEqual(['0.txt', '1.txt', '2.txt', '3.txt']);
    expect(await generations.head(key)).toMatchObject({ files: 4, bytes: 16 });
  });

  test('a thread that is deleted while a file comes in does not get it, nor does a later one with its id', async () => {
    await store.threads.createThread(key, { metadata: {} });
    await withIntake(files, async (intake) => {
      const staged = await intake.receive(chunks('x'), 10);
      await store.threads.deleteThread(key);
      await expect(staged.publish('a.txt')).rejects.toThrow(ConflictError);
      expect(await intake.isCurrent()).toBe(false);
      await store.filesGone(key);
      await upload('later.txt', 'y');
      await expect(staged.publish('a.txt')).rejects.toThrow('the thread was deleted meanwhile');
    });
    expect(await names()).toEqual(['later.txt']);
  });

  test('a companion of a file is refused without one', async () => {
    expect(await reasonOf(files.openIntake(key, { makes: false }))).toBe('not_found');
    expect(await generations.head(key)).toBeNull();
  });

  test('files that a killed process left are removed after an hour, and no others', async () => {
    await upload('first.txt', 'x');
    for (const name of ['old.upload', 'new.upload', 'other']) writeFileSync(join(spoolDir, name), 'half');
    for (const name of ['old.upload', 'other']) utimesSync(join(spoolDir, name), 1, 1);
    await upload('a.txt', 'x');
    expect(readdirSync(spoolDir).sort()).toEqual(['new.upload', 'other']);
    for (const name of ['new.upload', 'other']) rmSync(join(spoolDir, name));
  });
});

describe('reads and changes', () => {
  test('ranges of a file, and its version', async () => {
    await upload('a.txt', '0123456789');
    const file = await files.open(key, `${UPLOADS}/a.txt`);
    expect(file).toMatchObject({ size: 10, version: sha256Of(Buffer.from('0123456789')) });
    expect(await textOf(file, { start: 2, end: 4 })).toBe('234');
    expect(await textOf(file, { start: 5, end: 4 })).toBe('');
    expect(await textOf(file)).toBe('0123456789');
    const refused = ['nothing', 'a.txt/x', '', '../../x'].map((name) =>
      reasonOf(files.open(key, `${UPLOADS}/${name}`)),
    );
    expect(await Promise.all(refused)).toEqual(['not_found', 'not_regular', 'is_directory', 'outside']);
  });

  test('of two replacements of one text, one is made', async () => {
    await upload('a.txt', 'old');
    const replace = (content: string, of: UserFiles, maxBytes = 100) =>
      of.replaceText(key, `${UPLOADS}/a.txt`, {
        content: Buffer.from(content),
        expectedSha256: sha256Of(Buffer.from('old')).toUpperCase(),
        maxBytes,
      });
    expect(await reasonOf(replace('x'.repeat(11), files, 10))).toBe('too_large');
    await expect(replace('x'.repeat(1_001), files, 5_000)).rejects.toThrow('may take 1000 bytes');
    const both = await Promise.all([replace('first', files), replace('second', gateway())]);
    expect(both.filter((isReplaced) => isReplaced)).toHaveLength(1);
    expect(await read('a.txt')).toBe(both[0] ? 'first' : 'second');
    await upload('b.bin', 'a\0b');
    const binary = { content: Buffer.from('x'), expectedSha256: sha256Of(Buffer.from('a\0b')), maxBytes: 100 };
    expect(await reasonOf(files.replaceText(key, `${UPLOADS}/b.bin`, binary))).toBe('binary');
  });

  test('a file is removed once, and one that changed is not removed as the former', async () => {
    const entry = await upload('a.txt', 'old');
    expect(await files.removeUnchanged(key, 'uploads', { ...entry, sizeBytes: 4 })).toBe(false);
    expect(await files.removeUnchanged(key, 'uploads', { ...entry, name: 'b.txt' })).toBe(false);
    expect(await files.removeUnchanged(key, 'uploads', entry)).toBe(true);
    expect(await names()).toEqual([]);
    await upload('a.txt', 'new');
    await files.remove(key, `${UPLOADS}/a.txt`);
    expect(await reasonOf(files.remove(key, `${UPLOADS}/a.txt`))).toBe('not_found');
    expect(await generations.head(key)).toMatchObject({ files: 0, bytes: 0 });
  });

  test('a thread without files has none, and other users see none', async () => {
    expect(await files.list(key, 'outputs', 5)).toEqual({ files: [], truncated: false });
    await upload('a.txt', 'x');
    expect(await names({ ...key, userId: 'bob' })).toEqual([]);
  });
});

describe('changes that a manager has not stored yet', () => {
  beforeEach(async () => {
    await upload('a.txt', 'old');
  });

  test('are asked for before files are read, and not before an upload', async () => {
    const asked: string[] = [];
    let isUnpublished = true;
    const generationsOf: FileGenerations = {
      ...generations,
      head: async (of) => {
        const head = await generations.head(of);
        const unpublished = { managerId: 'm1', machine: 'one', sinceMs: 1 };
        return head !== null && isUnpublished ? { ...head, unpublished } : head;
      },
    };
    files = gateway({ generations: generationsOf });
    onAsked = async (managerId) => {
      asked.push(managerId);
      isUnpublished = false;
      await upload('a.txt', 'published', gateway());
    };
    await upload('b.txt', 'x', files);
    expect(asked).toEqual([]);
    expect(await read('a.txt')).toBe('published');
    expect(asked).toEqual(['m1']);
    isUnpublished = true;
    await files.settle(key);
    expect(asked).toEqual(['m1', 'm1']);
  });
});
