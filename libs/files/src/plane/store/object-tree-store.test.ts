import fc from 'fast-check';
import { UnavailableError } from '@caribou/contracts';
import type { FileNode, FileSource, FileTree, TreeNode } from '@caribou/core';
import { sha256Of } from '../../file-hash.js';
import { MemoryObjects } from '../../testing/memory-objects.js';
import { OverlayTree } from '../tree/overlay-tree.js';
import { MAX_NODES } from '../tree/tree-nodes.js';
import { objectTreeStore, type TreeStoreOptions } from './object-tree-store.js';

const SMALL: Partial<TreeStoreOptions> = { packedBelow: 100, packBytes: 250, bufferedBytes: 1_000, minDeltaNodes: 2 };

let objects: MemoryObjects;
beforeEach(() => (objects = new MemoryObjects()));

const storeWith = (options: Partial<TreeStoreOptions> = SMALL) => objectTreeStore(objects, options);
const sourceOf = (bytes: Uint8Array, size = bytes.byteLength): FileSource => ({
  size,
  open: async function* () {
    for (let at = 0; at < bytes.byteLength; at += 70) yield bytes.subarray(at, at + 70);
  },
});
const bytesOf = (size: number, seed = 7): Buffer =>
  Buffer.from(Array.from({ length: size }, (_, at) => (at * seed) % 251));
const keysOf = (prefix: string): string[] => [...objects.objects.keys()].filter((key) => key.startsWith(prefix));

async function nodeFor(bytes: Buffer): Promise<FileNode> {
  const [stored] = await storeWith().store('alice', [sourceOf(bytes)]);
  if (stored === null || stored === undefined) throw new Error('it was not stored');
  return { kind: 'file', mode: 0o644, size: bytes.byteLength, modifiedMs: 5, ...stored };
}

async function read(file: FileNode, range?: { start: number; end: number }): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of storeWith().open(file, range)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** What was delivered before the read failed, and why it did. */
async function failureOf(file: FileNode, range?: { start: number; end: number }) {
  let delivered = 0;
  try {
    for await (const chunk of storeWith().open(file, range)) delivered += chunk.byteLength;
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    return { delivered, reason: error.details['reason'] };
  }
  throw new Error('it was read');
}

const fileAt = (n: number): TreeNode => ({
  kind: 'file',
  mode: 0o644,
  size: n,
  modifiedMs: 1_700_000_000_000 + n,
  sha256: sha256Of(Buffer.from(`${n}`)),
  content: { object: `packs/alice/${n % 5}`, offset: n },
});
const treeOf = (files: number): Map<string, TreeNode> =>
  new Map<string, TreeNode>([
    ['workspace', { kind: 'directory', mode: 0o755 }],
    ...Array.from({ length: files }, (_, n): [string, TreeNode] => [`workspace/f${n}`, fileAt(n)]),
  ]);
const readWork = (work: string, options = SMALL): Promise<FileTree> =>
  storeWith(options).read('alice', { work }, 'work');

describe('contents of objectTreeStore', () => {
  test('any files come back, small ones in shared objects of bounded size and large ones in objects of their own', async () => {
    const sizes = fc.array(fc.oneof(fc.nat(120), fc.nat(3_000)), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(sizes, async (lengths) => {
        objects = new MemoryObjects();
        const files = lengths.map((length, at) => bytesOf(length, at + 1));
        const stored = await storeWith().store(
          'Al-Ice',
          files.map((bytes) => sourceOf(bytes)),
        );
        for (const [at, bytes] of files.entries()) {
          const result = stored[at];
          if (result === null || result === undefined) throw new Error('it was not stored');
          expect(await read({ kind: 'file', mode: 0, size: bytes.byteLength, modifiedMs: 0, ...result })).toEqual(
            bytes,
          );
        }
        expect(keysOf('blobs/')).toHaveLength(lengths.filter((length) => length >= 100).length);
        for (const key of keysOf('packs/')) expect(objects.objects.get(key)?.byteLength).toBeLessThanOrEqual(250);
        for (const key of objects.objects.keys()) expect(key).toMatch(/^(blobs|packs)\/a\.l-i\.ce\/[a-z0-9/-]+$/);
      }),
      { numRuns: 30 },
    );
  });

  test.each([50, 500, 5_000])(
    'a source of %i bytes that gives fewer, more or others the second time is not stored',
    async (size) => {
      const bytes = bytesOf(size);
      let reads = 0;
      const changing: FileSource = {
        size,
        open: async function* () {
          reads += 1;
          yield bytesOf(size, reads);
        },
      };
      const results = await storeWith().store('alice', [
        sourceOf(bytes, size + 1),
        sourceOf(bytes, size - 1),
        sourceOf(bytes),
        changing,
      ]);
      const isReadTwice = size > 1_000;
      expect(results.map((result) => result !== null)).toEqual([false, false, true, !isReadTwice]);
    },
  );

  test.each([50, 500, 5_000])('a source of %i bytes that is found is not stored again', async (size) => {
    const bytes = bytesOf(size);
    const [first] = await storeWith().store('alice', [sourceOf(bytes)]);
    const keys = [...objects.objects.keys()];
    const asked: unknown[] = [];
    const again = await storeWith().begin('alice', [sourceOf(bytes)], (file) => {
      asked.push(file);
      return first?.content;
    });
    await again.stored();
    expect(again.files).toEqual([first]);
    expect(asked).toEqual([{ size, sha256: first?.sha256 }]);
    expect([...objects.objects.keys()]).toEqual(keys);
  });

  test('an error of a source or of the store fails the call', async () => {
    const broken: FileSource = {
      size: 10,
      open: async function* () {
        yield bytesOf(5);
        throw new Error('the disk is broken');
      },
    };
    await expect(storeWith().store('alice', [broken])).rejects.toThrow('the disk is broken');
    objects.failure = () => 'before';
    for (const size of [10, 500, 5_000]) {
      await expect(storeWith().store('alice', [sourceOf(bytesOf(size))])).rejects.toThrow('away');
    }
  });

  test('a range is given exactly, and one beyond the file is refused', async () => {
    await storeWith().store('alice', [sourceOf(bytesOf(60))]);
    for (const size of [60, 2_000]) {
      const bytes = bytesOf(size);
      const file = await nodeFor(bytes);
      expect(await read(file, { start: 10, end: 40 })).toEqual(bytes.subarray(10, 41));
      expect(await read(file, { start: size - 1, end: size - 1 })).toEqual(bytes.subarray(size - 1));
      await expect(read(file, { start: 0, end: size })).rejects.toThrow('within');
      await expect(read(file, { start: 3, end: 2 })).rejects.toThrow('within');
    }
  });

  test('content that is missing, cut or altered is noticed before its last byte is given', async () => {
    for (const size of [60, 40_000]) {
      const file = await nodeFor(bytesOf(size));
      const { object } = file.content;
      const stored = objects.objects.get(object) ?? Buffer.alloc(0);
      const altered = Buffer.from(stored);
      altered[size >> 1] = (altered[size >> 1] ?? 0) ^ 1;
      objects.objects.set(object, altered);
      const failure = await failureOf(file);
      expect(failure.reason).toBe('altered');
      expect(failure.delivered).toBeLessThan(size);
      objects.objects.set(object, stored.subarray(0, size - 1));
      expect((await failureOf(file)).reason).toBe('cut');
      expect((await failureOf(file, { start: 0, end: size - 1 })).reason).toBe('cut');
      objects.objects.delete(object);
      expect(await failureOf(file)).toEqual({ delivered: 0, reason: 'missing' });
    }
  });
});

describe('trees of objectTreeStore', () => {
  test('a tree comes back from a store that has not seen it', async () => {
    const tree = treeOf(300);
    tree.set('workspace/link', { kind: 'link', target: '\xff/\x01 caf\xc3\xa9' });
    tree.set('workspace/\xff\n"', { kind: 'directory', mode: 0 });
    const key = await storeWith().write('alice', tree);
    expect(new Map(await readWork(key ?? ''))).toEqual(tree);
    expect(await storeWith().write('alice', new Map())).toBeUndefined();
    expect((await storeWith().read('alice', {}, 'work')).size).toBe(0);
  });

  test('a change is stored as a small delta, whose base is all of it, until it is a large part of the tree', async () => {
    const store = storeWith({ ...SMALL, minDeltaNodes: 2, maxDeltaShare: 0.25 });
    let tree: FileTree = treeOf(2_000);
    let key = (await store.write('alice', tree)) ?? '';
    const whole = objects.objects.get(key)?.byteLength ?? 0;
    const base = key;
    for (let n = 0; n < 3; n += 1) {
      const changes = {
        set: new Map([[`workspace/f${n}`, fileAt(9_000 + n)]]),
        removed: new Set([`workspace/f${100 + n}`]),
      };
      tree = OverlayTree.of(await store.read('alice', { work: key }, 'work'), changes);
      key = (await store.write('alice', tree, key)) ?? '';
      expect(objects.objects.get(key)?.byteLength).toBeLessThan(whole / 50);
      expect(await storeWith().references('alice', key)).toContain(base);
      expect(new Map(await readWork(key))).toEqual(new Map(tree));
    }
    const rewritten = new Map(
      Array.from(tree, ([path, node], at) => [path, at % 2 === 0 ? node : fileAt(50_000 + at)]),
    );
    key = (await store.write('alice', rewritten, key)) ?? '';
    expect(await storeWith().references('alice', key)).not.toContain(base);
    expect(new Map(await readWork(key))).toEqual(rewritten);
  });

  test('an equal tree is not stored again', async () => {
    const store = storeWith();
    const key = await store.write('alice', treeOf(50));
    expect(await store.write('alice', treeOf(50), key)).toBe(key);
    const changed = await store.write('alice', treeOf(51), key);
    expect(await store.write('alice', new Map(treeOf(51)), changed)).toBe(changed);
  });

  test('any sequence of changes is what is read', async () => {
    const change = fc.record({ n: fc.nat(12), removes: fc.boolean(), overlays: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 30 }), async (changes) => {
        const store = storeWith();
        const model = treeOf(8);
        let key = await store.write('alice', model);
        for (const [at, { n, removes, overlays }] of changes.entries()) {
          const path = `workspace/f${n}`;
          if (removes) model.delete(path);
          else model.set(path, fileAt(100 + at));
          const before = key === undefined ? new Map() : await store.read('alice', { work: key }, 'work');
          const node = model.get(path);
          const set = new Map(node === undefined ? [] : [[path, node]]);
          const overlay = OverlayTree.of(before, { set, removed: new Set(removes ? [path] : []) });
          expect([overlay.size, overlay.has(path)]).toEqual([model.size, model.has(path)]);
          key = await store.write('alice', overlays ? overlay : new Map(model), key);
          expect(
            new Map(await (at % 2 === 0 ? store : storeWith()).read('alice', { work: key ?? '' }, 'work')),
          ).toEqual(model);
        }
      }),
      { numRuns: 25 },
    );
  });

  test('a stored tree that is missing, cut, altered or of a later version is refused with its reason', async () => {
    for (const files of [3, 500]) {
      const key = (await storeWith().write('alice', treeOf(files))) ?? '';
      const stored = objects.objects.get(key) ?? Buffer.alloc(0);
      const reasonWith = async (bytes: Buffer | undefined): Promise<unknown> => {
        if (bytes === undefined) objects.objects.delete(key);
        else objects.objects.set(key, bytes);
        const error: unknown = await readWork(key).catch((failure: unknown) => failure);
        return error instanceof UnavailableError ? error.details['reason'] : error;
      };
      for (const at of [3, stored.indexOf('\n') + 5, stored.byteLength - 3]) {
        const altered = Buffer.from(stored);
        altered[at] = (altered[at] ?? 0) ^ 4;
        expect(await reasonWith(altered)).toBe('altered');
      }
      expect(await reasonWith(stored.subarray(0, -9))).toBe('altered');
      expect(
        await reasonWith(Buffer.from(stored.toString('latin1').replace('"version":1', '"version":2'), 'latin1')),
      ).toBe('unknown_version');
      expect(await reasonWith(undefined)).toBe('missing');
      objects.objects.set(key, stored);
      expect((await readWork(key)).size).toBe(files + 1);
    }
  });

  test('the tree of another user, and more nodes than a thread may have, are refused', async () => {
    const key = (await storeWith().write('alice', treeOf(3))) ?? '';
    await expect(storeWith().read('bob', { work: key }, 'work')).rejects.toThrow('another user');
    await expect(storeWith().write('alice', treeOf(MAX_NODES))).rejects.toMatchObject({ code: 'too_large' });
  });

  test('trees stay in memory within their bound', async () => {
    const store = storeWith({ ...SMALL, cacheBytes: 400 * 30 });
    const keys = await Promise.all([10, 11, 12, 13].map((files) => store.write('alice', treeOf(files))));
    const before = objects.calls.get;
    for (const key of keys) await store.read('alice', { work: key ?? '' }, 'work');
    expect(objects.calls.get).toBeGreaterThan(before);
    const after = objects.calls.get;
    await Promise.all([1, 2, 3].map(() => store.read('alice', { work: keys[3] ?? '' }, 'work')));
    expect(objects.calls.get).toBe(after);
  });
});
