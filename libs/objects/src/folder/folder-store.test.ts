import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { objectStoreConfig } from '@caribou/config';
import { silentLogger, systemClock } from '@caribou/core';
import { rootInMemory, temporaryFolder, waitFor } from '@caribou/testing';
import { openObjectStore } from '../open-object-store.js';
import type { OpenedStore } from '../common/opened-store.js';
import { readVerified } from '../read-verified.js';
import { bodyOf, noise, readAll, sha256Of } from '../testing/bodies.js';
import { folderFailure } from './folder-failure.js';

const home = temporaryFolder(rootInMemory());
let folders = 0;

function newStore(
  more: Readonly<Record<string, unknown>> = {},
  nowMs = Date.now,
): { root: string; store: OpenedStore } {
  const root = join(home, `store-${++folders}`);
  const settings = objectStoreConfig({ folder: { path: root, ...more } }, home);
  return { root, store: openObjectStore(settings, silentLogger, { ...systemClock, now: nowMs }) };
}

async function* hanging(): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from('half');
  yield Buffer.from('of it');
  await new Promise(() => undefined);
}

describe('files', () => {
  test('nobody else can read them', async () => {
    const { root, store } = newStore();
    await store.put('a/b', bodyOf('x'));
    expect([root, join(root, 'a'), join(root, 'a', 'b=')].map((path) => statSync(path).mode & 0o777)).toEqual([
      0o700, 0o700, 0o600,
    ]);
  });

  test('an object that is being written is in no list, and is removed by its age when its writer is gone', async () => {
    let nowMs = Date.now();
    const { root, store } = newStore({}, () => nowMs);
    const stop = new AbortController();
    const put = store.put('a/b', { ...bodyOf('x'.repeat(100)), open: hanging }, stop.signal);
    const temporaries = (): string[] => readdirSync(join(root, 'TEMPORARY'));
    await waitFor(() => temporaries().length === 1, { what: 'a file that is being written' });
    expect(await store.list('')).toEqual({ objects: [] });
    stop.abort(new RangeError('stopped'));
    await expect(put).rejects.toThrow('stopped');
    expect(temporaries()).toHaveLength(1);
    expect(await store.removeLeftovers(3_600_000)).toBe(0);
    nowMs += 3_700_000;
    expect(await store.removeLeftovers(3_600_000)).toBe(1);
    expect(temporaries()).toEqual([]);
  });

  test('a put that fails leaves no file', async () => {
    const { root, store } = newStore();
    await expect(store.put('a/b', { ...bodyOf('x'), size: 3 })).rejects.toMatchObject({ code: 'conflict' });
    expect(readdirSync(join(root, 'TEMPORARY'))).toEqual([]);
    expect(readdirSync(root)).toEqual(['TEMPORARY']);
  });

  describe.each([true, false])('an object that may not be needed; durable: %s', (durable) => {
    const bytes = Buffer.from('x');
    const never = (): Promise<never> => Promise.reject(new RangeError('no room'));
    const textOf = async (store: OpenedStore): Promise<string> =>
      (await readAll((await store.get('a/b')).body)).toString();

    test('is there when it turns out to be needed', async () => {
      const { root, store } = newStore({ durable });
      let decide = (): void => undefined;
      const needed = new Promise<void>((resolve) => (decide = resolve));
      let isStored = false;
      const put = store.put('a/b', { bytes, needed }).then(() => (isStored = true));
      await waitFor(async () => (await store.head('a/b')) !== undefined, { what: 'the object' });
      expect(isStored).toBe(false);
      decide();
      await put;
      expect([await textOf(store), readdirSync(join(root, 'TEMPORARY'))]).toEqual(['x', []]);
    });

    test('leaves nothing when it is not', async () => {
      const { root, store } = newStore({ durable });
      await expect(store.put('a/b', { bytes, needed: never() })).rejects.toThrow('no room');
      let refuse = (): void => undefined;
      const needed = new Promise<void>((_, reject) => (refuse = () => reject(new RangeError('no room'))));
      const put = store.put('a/c', { bytes, needed });
      await waitFor(async () => (await store.head('a/c')) !== undefined, { what: 'the object' });
      refuse();
      await expect(put).rejects.toThrow('no room');
      expect([readdirSync(root), readdirSync(join(root, 'TEMPORARY'))]).toEqual([['TEMPORARY'], []]);
    });

    test('replaces another one only when it is needed', async () => {
      const { root, store } = newStore({ durable });
      await store.put('a/b', { bytes: Buffer.from('former') });
      await expect(store.put('a/b', { bytes, needed: never() })).rejects.toThrow('no room');
      expect([await textOf(store), readdirSync(join(root, 'TEMPORARY'))]).toEqual(['former', []]);
      await store.put('a/b', { bytes, needed: Promise.resolve() });
      expect(await textOf(store)).toBe('x');
    });
  });

  test('directories without objects are removed, also while others are stored in them', async () => {
    const { root, store } = newStore({ durable: false });
    const keys = Array.from({ length: 60 }, (_, index) => `a/b/${index % 2}/${index}`);
    await Promise.all(
      keys.map(async (key) => {
        await store.put(key, bodyOf(key));
        await store.remove([key]);
      }),
    );
    expect(await store.list('')).toEqual({ objects: [] });
    expect(readdirSync(root)).toEqual(['TEMPORARY']);
  });

  test('other files, links and directories are no objects', async () => {
    const { root, store } = newStore();
    await store.put('a/b', bodyOf('x'));
    writeFileSync(join(root, 'a', 'c'), 'no end');
    writeFileSync(join(root, 'a', 'UPPER='), 'no key');
    symlinkSync('/etc/passwd', join(root, 'a', 'link='));
    symlinkSync('/etc', join(root, 'a', 'etc'));
    mkdirSync(join(root, 'a', 'directory='));
    expect((await store.list('')).objects.map(({ key }) => key)).toEqual(['a/b']);
    expect(await store.head('a/link')).toBeUndefined();
    await expect(store.get('a/link')).rejects.toMatchObject({ details: { reason: 'failed' } });
    await expect(store.get('a/directory')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('an object that was altered or cut on the disk is not taken for what it was', async () => {
    const { root, store } = newStore();
    const bytes = noise(700_000);
    const expected = { size: bytes.byteLength, sha256: sha256Of(bytes) };
    await store.put('a/b', bodyOf(bytes));
    writeFileSync(join(root, 'a', 'b='), Buffer.alloc(700_000));
    await expect(readAll(readVerified(store, 'a/b', { expected }))).rejects.toMatchObject({
      details: { reason: 'altered' },
    });
    const { body } = await store.get('a/b');
    truncateSync(join(root, 'a', 'b='), 300_000);
    await expect(readAll(body)).rejects.toMatchObject({ details: { reason: 'cut' } });
  });

  test('one directory with more objects than are looked at together is listed whole', async () => {
    const { root, store } = newStore();
    const names = Array.from({ length: 2_300 }, (_, index) => `k${(index * 7_919) % 2_300}`);
    mkdirSync(join(root, 'flat'), { recursive: true });
    for (const name of names) writeFileSync(join(root, 'flat', `${name}=`), '');
    const keys: string[] = [];
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await store.list('flat/', after);
      keys.push(...page.objects.map(({ key }) => key));
      after = page.next;
    }
    expect(keys).toEqual(names.map((name) => `flat/${name}`).sort());
  });
});

describe('durability', () => {
  const countSyncs = async (key: string, more: Readonly<Record<string, unknown>>): Promise<number> => {
    const { root, store } = newStore(more);
    await store.put('first', bodyOf('x'));
    const handle = await open(root);
    const prototype = Object.getPrototypeOf(handle) as { sync: () => Promise<void> };
    await handle.close();
    const sync = jest.spyOn(prototype, 'sync');
    try {
      await store.put(key, bodyOf('x'));
      return sync.mock.calls.length;
    } finally {
      sync.mockRestore();
    }
  };

  test('the file and each directory above it are on the disk before put returns', async () => {
    expect(await countSyncs('a/b/c', {})).toBe(4);
  });

  test('without durability nothing waits for the disk', async () => {
    expect(await countSyncs('a/b/c', { durable: false })).toBe(0);
  });
});

describe('a disk that fails', () => {
  const isRoot = process.getuid?.() === 0;
  const disk = join(home, 'disk');
  mkdirSync(disk);
  const isMounted = isRoot && spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).status === 0;
  afterAll(() => {
    if (isMounted) spawnSync('umount', [disk]);
  });
  if (!isMounted) process.stderr.write('skipped: objects on a full disk (no tmpfs can be mounted here)\n');

  (isMounted ? test : test.skip)('a full disk is a failure with this reason, and leaves nothing', async () => {
    const root = join(disk, 'objects');
    const store = openObjectStore(objectStoreConfig({ folder: { path: root } }, home), silentLogger);
    await store.put('a/small', bodyOf('x'));
    await expect(store.put('a/large', bodyOf(noise(2_000_000)))).rejects.toMatchObject({
      code: 'unavailable',
      message: 'object store: the disk of its folder is full: make space',
      details: { dependency: 'objects', reason: 'full' },
    });
    expect(readdirSync(join(root, 'TEMPORARY'))).toEqual([]);
    expect((await store.list('')).objects.map(({ key }) => key)).toEqual(['a/small']);
    await store.put('a/other', bodyOf(noise(200_000)));
  });

  test.each([
    ['ENOSPC', 'full'],
    ['EDQUOT', 'full'],
    ['EROFS', 'permission'],
    ['EACCES', 'permission'],
    ['EMFILE', 'overloaded'],
    ['EIO', 'failed'],
    ['ESTALE', 'failed'],
  ])('%s has the reason %s and shows no path', (code, reason) => {
    const error = Object.assign(new Error(`${code}: open '/secret/path'`), { code });
    expect(folderFailure(error)).toMatchObject({ code: 'unavailable', details: { reason } });
    expect(String(folderFailure(error))).not.toContain('/secret/path');
    expect(folderFailure(new RangeError('a defect'))).toBeInstanceOf(RangeError);
  });

  test('a file in place of the folder is a failure, and nothing is missing then', async () => {
    const { root, store } = newStore();
    mkdirSync(dirname(root), { recursive: true });
    writeFileSync(root, '');
    await expect(store.put('a/b', bodyOf('x'))).rejects.toMatchObject({ code: 'unavailable' });
    rmSync(root);
  });
});
