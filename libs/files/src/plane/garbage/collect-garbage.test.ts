import { Readable } from 'node:stream';
import { UnavailableError } from '@caribou/contracts';
import { type FileGenerations, type FileTree, type Logger, silentLogger, type ThreadKey } from '@caribou/core';
import { redisFileGenerations, redisSharedDocuments } from '@caribou/state';
import { type StoreFixture, thread, useStore } from '@caribou/testing';
import { MemoryObjects } from '../../testing/memory-objects.js';
import { SMALL } from '../../testing/plane-fixture.js';
import { objectTreeStore, type ObjectTreeStore } from '../store/object-tree-store.js';
import { treeFiles } from '../tree/tree-files.js';
import { collectGarbage, type Collected, type GarbageParts } from './collect-garbage.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let store: StoreFixture;
let objects: MemoryObjects;
let trees: ObjectTreeStore;
let generations: FileGenerations;
let logged: string[];

useStore((opened) => {
  store = opened;
  objects = new MemoryObjects();
  objects.nowMs = 1_000 * DAY;
  trees = objectTreeStore(objects, SMALL);
  generations = redisFileGenerations(store.redis);
  logged = [];
});

const logger: Logger = {
  ...silentLogger,
  warn: (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`),
  error: (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`),
};

const collect = (more: Partial<GarbageParts> = {}): Promise<Collected> =>
  collectGarbage({
    store: objects,
    // No manifest is in memory, as in a process that was just started.
    trees: objectTreeStore(objects, SMALL),
    generations,
    moreRoots: () => Promise.resolve([]),
    documents: redisSharedDocuments(store.redis),
    nowMs: () => objects.nowMs,
    logger,
    signal: new AbortController().signal,
    maxMs: HOUR,
    ...more,
  });

/** Two collections with more than an hour between. */
async function collectTwice(more: Partial<GarbageParts> = {}): Promise<Collected> {
  await collect(more);
  objects.nowMs += 2 * HOUR;
  return collect(more);
}

const later = (ms: number): void => {
  objects.nowMs += ms;
};

/** Objects of users, without what collections remember. */
const stored = (user = ''): number =>
  [...objects.objects.keys()].filter((key) => !key.startsWith('collector/') && key.includes(`/${user}`)).length;

async function write(key: ThreadKey, name: string, content: string): Promise<void> {
  const head = await generations.head(key);
  const bytes = Buffer.from(content);
  const [file] = await trees.store(key.userId, [{ size: bytes.byteLength, open: () => Readable.from([bytes]) }]);
  if (file === null || file === undefined) throw new Error('it was not stored');
  const before: FileTree = await trees.read(key.userId, head?.trees ?? {}, 'work');
  const path = `/mnt/user-data/workspace/${name}`;
  const tree = treeFiles.setFile(before, path, { ...file, size: bytes.byteLength, modifiedMs: 1 });
  const work = await trees.write(key.userId, tree, head?.trees.work);
  const commit = { expected: head, trees: work === undefined ? {} : { work }, bytes: 1, files: 1 };
  expect((await generations.commit(key, commit)).committed).toBe(true);
}

async function read(key: ThreadKey, name: string): Promise<string> {
  const head = await generations.head(key);
  const fresh = objectTreeStore(objects, SMALL);
  const tree = await fresh.read(key.userId, head?.trees ?? {}, 'work');
  const chunks: Uint8Array[] = [];
  const node = treeFiles.lookup(tree, `/mnt/user-data/workspace/${name}`);
  for await (const chunk of fresh.open(node)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function savedThread(userId = 'alice'): Promise<ThreadKey> {
  const key = thread(userId);
  await store.threads.createThread(key, { metadata: {} });
  await write(key, 'a.txt', 'small');
  await write(key, 'b.txt', 'large'.repeat(300));
  return key;
}

describe(collectGarbage, () => {
  test('what files need stays, and what nothing needs goes after a day and two findings', async () => {
    const key = await savedThread();
    for (let at = 0; at < 5; at += 1) await write(key, 'b.txt', `${at}`.repeat(1_000));
    const before = stored();
    expect((await collectTwice()).removed).toBe(0);
    expect(stored()).toBe(before);

    later(DAY);
    expect(await collect()).toMatchObject({ users: 1, removed: 0, candidates: expect.any(Number), isComplete: true });
    later(HOUR / 2);
    expect((await collect()).removed).toBe(0);
    later(HOUR / 2);
    const { removed } = await collect();
    expect(removed).toBeGreaterThan(4);
    expect(stored()).toBe(before - removed);
    expect([await read(key, 'a.txt'), await read(key, 'b.txt')]).toEqual(['small', '4'.repeat(1_000)]);
    expect(await collectTwice()).toMatchObject({ removed: 0, candidates: 0 });
  });

  test('files of checkpoints stay until these are gone', async () => {
    const key = await savedThread();
    await store.threads.updateState(key, { title: 'a title' });
    await write(key, 'b.txt', 'new'.repeat(500));
    later(DAY);
    expect((await collectTwice()).removed).toBe(0);
    await store.threads.deleteThread(key);
    expect((await collectTwice()).removed).toBeGreaterThan(0);
    expect(stored()).toBe(0);
  });

  test('objects of users without threads go too, and nothing of others', async () => {
    const [bob, other] = [await savedThread('Bob'), await savedThread('bob-2')];
    await store.threads.deleteThread(bob);
    later(DAY);
    expect(await collectTwice()).toMatchObject({ users: 2 });
    expect([stored('b.ob/'), stored('bob-2/') > 0]).toEqual([0, true]);
    expect(await read(other, 'a.txt')).toBe('small');
  });

  test('trees of other kinds stay', async () => {
    const [file] = await trees.store('alice', [{ size: 1, open: () => Readable.from([Buffer.from('x')]) }]);
    if (file === null || file === undefined) throw new Error('it was not stored');
    const tree = treeFiles.setFile(new Map(), '/mnt/user-data/uploads/x', { ...file, size: 1, modifiedMs: 1 });
    const root = await trees.write('alice', tree);
    later(DAY);
    const moreRoots = () => Promise.resolve(root === undefined ? [] : [root]);
    expect((await collectTwice({ moreRoots })).removed).toBe(0);
    expect((await collectTwice()).removed).toBe(2);
  });

  test('a thread that is copied while its source is deleted keeps its files', async () => {
    const source = await savedThread();
    const copy = thread();
    later(DAY);
    let isCopied = false;
    // The copy is made after the threads were listed, and its source is gone before it was looked at.
    const racing: FileGenerations = {
      ...generations,
      retained: async (key) => {
        if (!isCopied) {
          isCopied = true;
          await store.threads.copyThread(source, copy.threadId);
          await store.threads.deleteThread(source);
        }
        return generations.retained(key);
      },
    };
    expect(await collect({ generations: racing })).toMatchObject({ removed: 0, candidates: 0 });
    expect(await generations.head(source)).toBeNull();
    expect((await collectTwice()).removed).toBe(0);
    expect(await read(copy, 'b.txt')).toBe('large'.repeat(300));
  });

  test('a copy made between two collections protects what the first found', async () => {
    const source = await savedThread();
    await write(source, 'b.txt', 'other'.repeat(300));
    const { trees: former } = (await generations.head(source)) ?? {};
    await write(source, 'b.txt', 'third'.repeat(300));
    later(DAY);
    expect((await collect()).candidates).toBeGreaterThan(0);
    const again = thread();
    await generations.commit(again, { expected: null, trees: former ?? {}, bytes: 1, files: 1 });
    later(2 * HOUR);
    await collect();
    expect(await read(again, 'b.txt')).toBe('other'.repeat(300));
  });

  test('nothing of a user is removed when a tree cannot be read; others are collected', async () => {
    const [broken, gone] = [await savedThread('alice'), await savedThread('zoe')];
    const { trees: named } = (await generations.head(broken)) ?? {};
    await write(broken, 'b.txt', 'new'.repeat(500));
    await store.threads.updateState(broken, { title: 'a title' });
    await store.threads.deleteThread(gone);
    const head = await generations.head(broken);
    objects.objects.set(head?.trees.work ?? '', Buffer.from('damaged'));
    const before = stored('alice/');
    later(DAY);
    await collectTwice();
    expect([stored('alice/'), stored('zoe/')]).toEqual([before, 0]);
    expect(named?.work).not.toBe(head?.trees.work);
    expect(logged[0]).toContain('nothing of a user was removed');
  });

  test('a store that is away ends a collection', async () => {
    for (const user of ['alice', 'bob', 'carol']) await savedThread(user);
    await collect();
    objects.failure = () => 'before';
    await expect(collect()).rejects.toThrow(UnavailableError);
  });

  test('one that is out of time continues at the next user', async () => {
    for (const user of ['alice', 'bob', 'carol']) await savedThread(user);
    expect(await collect({ maxMs: 0 })).toMatchObject({ users: 1, isComplete: false });
    expect(await collect({ maxMs: 0 })).toMatchObject({ users: 1, isComplete: false });
    expect(await collect({ maxMs: 0 })).toMatchObject({ users: 1, isComplete: true });
    expect(await collect()).toMatchObject({ users: 3, isComplete: true });
  });

  test('another installation on the same store, or one that lost its Redis, removes nothing', async () => {
    await savedThread();
    later(DAY);
    await collect();
    let document: unknown;
    const documents: GarbageParts['documents'] = {
      read: () => Promise.resolve({ version: 0, value: document }),
      write: (_name, value) => Promise.resolve(((document = value), 1)),
    };
    const before = stored();
    const empty = { ...generations, threadsWithFiles: () => Promise.resolve([]) };
    expect((await collectTwice({ documents, generations: empty })).removed).toBe(0);
    document = 'another';
    expect((await collectTwice({ documents, generations: empty })).removed).toBe(0);
    expect(stored()).toBe(before);
    expect(logged[0]).toContain('belongs to another installation');
  });
});
