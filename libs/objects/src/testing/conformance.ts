import { ConflictError, InvalidRequestError, NotFoundError } from '@caribou/contracts';
import type { ObjectStore } from '@caribou/core';
import { readVerified } from '../read-verified.js';
import { alteredBody, bodyOf, noise, readAll, sha256Of } from './bodies.js';

export interface ConformanceOptions {
  /** The store, whose tests use keys of their own. */
  readonly store: () => ObjectStore;
  /** Size of an object that the store handles in another way than small ones. */
  readonly largeBytes: number;
  /** Objects of a page. */
  readonly pageObjects: number;
  /** Tests that cannot pass because of a fault of the server, by their names. */
  readonly faults?: Readonly<Record<string, string>>;
}

const text = async (store: ObjectStore, key: string): Promise<string> => readAllOf(store, key).then(String);

const readAllOf = async (store: ObjectStore, key: string): Promise<Buffer> => readAll((await store.get(key)).body);

async function allKeys(store: ObjectStore, prefix: string): Promise<{ keys: string[]; pages: number[] }> {
  const keys: string[] = [];
  const pages: number[] = [];
  let after: string | undefined;
  do {
    const page = await store.list(prefix, after);
    keys.push(...page.objects.map(({ key }) => key));
    pages.push(page.objects.length);
    after = page.next;
  } while (after !== undefined);
  return { keys, pages };
}

/** What every object store must do, as `ObjectStore` says. */
export function describeObjectStore(name: string, options: ConformanceOptions): void {
  const { largeBytes, pageObjects, faults = {} } = options;
  const check = (title: string, run: () => Promise<void>): void => {
    const fault = faults[title];
    if (fault === undefined) test(title, run);
    else test.skip(`${title}: ${fault}`, run);
  };

  describe(`${name}: objects`, () => {
    check('an object is read as it was stored, and head and list know it', async () => {
      const store = options.store();
      await store.put('one/a', bodyOf('content'));
      const { size, body } = await store.get('one/a');
      expect([size, String(await readAll(body))]).toEqual([7, 'content']);
      const info = await store.head('one/a');
      expect(info).toEqual({ key: 'one/a', size: 7, modifiedMs: expect.any(Number) });
      expect(Math.abs((info?.modifiedMs ?? 0) - Date.now())).toBeLessThan(600_000);
      const listed = await store.list('one/');
      // A list of S3 has milliseconds, an answer to HEAD has none.
      expect(listed).toEqual({ objects: [{ key: 'one/a', size: 7, modifiedMs: expect.any(Number) }] });
    });

    check('an object without bytes is an object', async () => {
      const store = options.store();
      await store.put('empty/a', bodyOf(''));
      const { size, body } = await store.get('empty/a');
      expect([size, (await readAll(body)).byteLength, (await store.head('empty/a'))?.size]).toEqual([0, 0, 0]);
    });

    check('a large object is read as it was stored', async () => {
      const store = options.store();
      const bytes = noise(largeBytes);
      await store.put('large/a', bodyOf(bytes, 1_000_003));
      expect(sha256Of(await readAllOf(store, 'large/a'))).toBe(sha256Of(bytes));
      const { size, body } = await store.get('large/a', { start: largeBytes - 100_000, end: largeBytes - 2 });
      expect(size).toBe(largeBytes);
      expect((await readAll(body)).equals(bytes.subarray(-100_000, -1))).toBe(true);
    });

    check('bytes in memory are stored as they are, with a checksum that is known or not', async () => {
      const store = options.store();
      for (const size of [0, 100_000, largeBytes]) {
        const bytes = noise(size);
        await store.put('bytes/a', { bytes });
        expect((await readAllOf(store, 'bytes/a')).equals(bytes)).toBe(true);
        await store.put('bytes/b', { bytes, sha256: sha256Of(bytes) });
        expect((await readAllOf(store, 'bytes/b')).equals(bytes)).toBe(true);
      }
    });

    check('what is not there is missing, for get and head', async () => {
      const store = options.store();
      await expect(store.get('missing/a')).rejects.toThrow(new NotFoundError('object missing/a does not exist'));
      await expect(store.get('missing/a', { start: 0, end: 1 })).rejects.toBeInstanceOf(NotFoundError);
      expect(await store.head('missing/a')).toBeUndefined();
      expect(await store.list('missing/')).toEqual({ objects: [] });
    });

    check('a second put of a key replaces the object', async () => {
      const store = options.store();
      await store.put('again/a', bodyOf('first content'));
      await store.put('again/a', bodyOf('second'));
      expect(await text(store, 'again/a')).toBe('second');
      expect((await store.list('again/')).objects).toHaveLength(1);
    });

    check('many puts of one key at the same time leave one whole object', async () => {
      const store = options.store();
      const bytes = noise(200_000);
      await Promise.all(Array.from({ length: 8 }, () => store.put('race/a', bodyOf(bytes, 10_000))));
      expect(sha256Of(await readAllOf(store, 'race/a'))).toBe(sha256Of(bytes));
      expect((await store.list('race/')).objects).toHaveLength(1);
    });

    check('a body that is not what it says is not stored', async () => {
      const store = options.store();
      await expect(store.put('false/a', alteredBody('content'))).rejects.toBeInstanceOf(ConflictError);
      await expect(store.put('false/b', { ...bodyOf('content'), size: 6 })).rejects.toBeInstanceOf(ConflictError);
      await expect(store.put('false/c', { ...bodyOf('content'), size: 8 })).rejects.toBeInstanceOf(ConflictError);
      expect(await store.list('false/')).toEqual({ objects: [] });
    });

    check('an error of the body is thrown as it is, and nothing is stored', async () => {
      const store = options.store();
      async function* broken(): AsyncGenerator<Uint8Array, void> {
        yield Buffer.from('con');
        throw new RangeError('the source broke');
      }
      await expect(store.put('broken/a', { ...bodyOf('content'), open: broken })).rejects.toThrow('the source broke');
      expect(await store.head('broken/a')).toBeUndefined();
    });

    check('removed objects are gone, and missing ones are no error', async () => {
      const store = options.store();
      const keys = Array.from({ length: 40 }, (_, index) => `gone/${index % 3}/${index}`);
      await Promise.all(keys.map((key) => store.put(key, bodyOf(key))));
      await store.remove([...keys.slice(1), 'gone/none', 'gone/none/either']);
      expect((await store.list('gone/')).objects.map(({ key }) => key)).toEqual([keys[0]]);
      await store.remove([]);
    });
  });

  describe(`${name}: ranges`, () => {
    for (const { start, end, expected } of [
      { start: 0, end: 0, expected: '0' },
      { start: 0, end: 9, expected: '0123456789' },
      { start: 3, end: 5, expected: '345' },
      { start: 9, end: 9, expected: '9' },
      { start: 7, end: 1_000, expected: '789' },
    ])
      check(`bytes ${start} to ${end} of ten`, async () => {
        const store = options.store();
        await store.put('range/a', bodyOf('0123456789'));
        const { size, body } = await store.get('range/a', { start, end });
        expect([size, String(await readAll(body))]).toEqual([10, expected]);
      });

    check('a range behind the object, or one that is none, is refused', async () => {
      const store = options.store();
      await store.put('range/b', bodyOf('0123456789'));
      await expect(store.get('range/b', { start: 10, end: 12 })).rejects.toThrow(
        new InvalidRequestError('range: it begins at byte 10 of an object of 10 bytes'),
      );
      await expect(store.get('range/b', { start: 2, end: 1 })).rejects.toBeInstanceOf(InvalidRequestError);
      await expect(store.get('range/b', { start: -1, end: 1 })).rejects.toBeInstanceOf(InvalidRequestError);
    });

    check('there is no range of an object without bytes', async () => {
      const store = options.store();
      await store.put('range/empty', bodyOf(''));
      await expect(store.get('range/empty', { start: 0, end: 0 })).rejects.toBeInstanceOf(InvalidRequestError);
    });
  });

  describe(`${name}: keys`, () => {
    check('a key may be the beginning of another one, and have many parts', async () => {
      const store = options.store();
      const deep = `deep/${Array.from({ length: 60 }, (_, index) => `p${index}`).join('/')}/end`;
      const keys = ['deep/a', 'deep/a-b', 'deep/a/b', 'deep/a/b/c', 'deep/a0', 'deep/a.b', 'deep/a_b', deep];
      for (const key of keys) await store.put(key, bodyOf(key));
      for (const key of keys) expect(await text(store, key)).toBe(key);
      await store.remove(['deep/a']);
      expect(await text(store, 'deep/a/b')).toBe('deep/a/b');
    });

    test.each(['', '/a', 'a/', 'a//b', '.', '..', 'a/../b', 'a/./b', 'A', 'a b', 'ä', 'a\0', 'a\\b', 'x'.repeat(513)])(
      'the key %j is refused by all methods',
      async (key) => {
        const store = options.store();
        await expect(store.put(key, bodyOf('x'))).rejects.toBeInstanceOf(InvalidRequestError);
        await expect(store.get(key)).rejects.toBeInstanceOf(InvalidRequestError);
        await expect(store.head(key)).rejects.toBeInstanceOf(InvalidRequestError);
        await expect(store.remove([key])).rejects.toBeInstanceOf(InvalidRequestError);
      },
    );

    check('the longest key works; a longer part, other prefixes and too many keys are refused', async () => {
      const store = options.store();
      const longest = `${'k'.repeat(200)}/${'l'.repeat(200)}/${'m'.repeat(110)}`;
      await store.put(longest, bodyOf('long'));
      expect(await text(store, longest)).toBe('long');
      expect((await store.list(longest)).objects.map(({ key }) => key)).toEqual([longest]);
      await expect(store.put('n'.repeat(201), bodyOf('x'))).rejects.toThrow('at most 200 characters');
      await expect(store.list('../')).rejects.toBeInstanceOf(InvalidRequestError);
      await expect(store.remove(Array.from({ length: 1_001 }, () => 'a'))).rejects.toThrow('at most 1000');
    });
  });

  describe(`${name}: lists`, () => {
    check('keys are in the order of their bytes', async () => {
      const store = options.store();
      const keys = ['order/a', 'order/a-b', 'order/a/b', 'order/a/b/c', 'order/a0', 'order/a.b', 'order/a-c/d'];
      for (const key of keys) await store.put(key, bodyOf(key));
      expect((await allKeys(store, 'order/')).keys).toEqual([...keys].sort());
      expect((await allKeys(store, 'order/a-')).keys).toEqual(['order/a-b', 'order/a-c/d']);
      expect((await store.list('order/', 'order/a-c')).objects[0]?.key).toBe('order/a-c/d');
      expect((await store.list('order/', 'order/a/b')).objects[0]?.key).toBe('order/a/b/c');
    });

    check('pages hold all keys of a prefix, once and in order', async () => {
      const store = options.store();
      const keys = Array.from({ length: pageObjects + 7 }, (_, index) => `many/${(index * 7_919) % 97}/${index}`);
      const waiting = [...keys];
      const putOn = async (): Promise<void> => {
        for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) await store.put(key, bodyOf('x'));
      };
      await Promise.all(Array.from({ length: 16 }, putOn));
      await store.put('manx', bodyOf('x'));
      const sorted = [...keys].sort();
      const found = await allKeys(store, 'many/');
      expect(found.keys).toEqual(sorted);
      expect(found.pages).toEqual([pageObjects, 7]);
      expect((await store.list('many/1')).objects.map(({ key }) => key)).toEqual(
        sorted.filter((key) => key.startsWith('many/1')),
      );
      expect((await store.list('many/', sorted.at(-2))).objects.map(({ key }) => key)).toEqual(sorted.slice(-1));
      // Neither cursor is a key.
      expect((await store.list('many/', 'many/96/zz')).objects).toEqual([]);
      expect((await store.list('many/', 'a')).objects[0]?.key).toBe(sorted[0]);
    });
  });

  describe(`${name}: readers and callers`, () => {
    check('readVerified gives the bytes of an object that is as expected', async () => {
      const store = options.store();
      const bytes = noise(300_000);
      await store.put('verified/a', bodyOf(bytes));
      const expected = { size: bytes.byteLength, sha256: sha256Of(bytes) };
      expect((await readAll(readVerified(store, 'verified/a', { expected }))).equals(bytes)).toBe(true);
      await expect(readAll(readVerified(store, 'verified/b', { expected }))).rejects.toBeInstanceOf(NotFoundError);
    });

    check('readVerified does not give all bytes of an object with another content', async () => {
      const store = options.store();
      const bytes = noise(300_000);
      await store.put('altered/a', bodyOf(bytes));
      let read = 0;
      const readOther = async (): Promise<void> => {
        const expected = { sha256: sha256Of(Buffer.from('other')) };
        for await (const piece of readVerified(store, 'altered/a', { expected })) read += piece.byteLength;
      };
      await expect(readOther()).rejects.toMatchObject({ code: 'unavailable', details: { reason: 'altered' } });
      expect(read).toBeLessThan(bytes.byteLength);
      const short = { size: 1, sha256: sha256Of(bytes) };
      await expect(readAll(readVerified(store, 'altered/a', { expected: short }))).rejects.toThrow(
        'object altered/a was altered after it was stored',
      );
    });

    check('a signal that has aborted stops every method with its reason', async () => {
      const store = options.store();
      const signal = AbortSignal.abort(new RangeError('stopped'));
      await expect(store.put('stop/a', bodyOf('x'), signal)).rejects.toThrow('stopped');
      await expect(store.get('stop/a', undefined, signal)).rejects.toThrow('stopped');
      await expect(store.head('stop/a', signal)).rejects.toThrow('stopped');
      await expect(store.remove(['stop/a'], signal)).rejects.toThrow('stopped');
      await expect(store.list('stop/', undefined, signal)).rejects.toThrow('stopped');
    });

    check('an abort ends a put whose body hangs, and a body that is being read', async () => {
      const store = options.store();
      const stop = new AbortController();
      async function* hanging(): AsyncGenerator<Uint8Array, void> {
        yield Buffer.from('con');
        yield Buffer.from('tent');
        stop.abort(new RangeError('stopped'));
        await new Promise(() => undefined);
      }
      const body = { ...bodyOf('content and more'), open: hanging };
      await expect(store.put('stop/b', body, stop.signal)).rejects.toThrow('stopped');
      expect(await store.head('stop/b')).toBeUndefined();

      await store.put('stop/c', bodyOf(noise(3_000_000)));
      const other = new AbortController();
      const content = await store.get('stop/c', undefined, other.signal);
      const readOn = async (): Promise<void> => {
        for await (const _ of content.body) other.abort(new RangeError('stopped too'));
      };
      await expect(readOn()).rejects.toThrow('stopped too');
    });

    check('a body may be left unread, or in its middle', async () => {
      const store = options.store();
      await store.put('unread/a', bodyOf(noise(2_000_000)));
      await store.get('unread/a');
      for await (const piece of (await store.get('unread/a')).body) {
        expect(piece.byteLength).toBeGreaterThan(0);
        break;
      }
      expect((await readAllOf(store, 'unread/a')).byteLength).toBe(2_000_000);
    });
  });
}
