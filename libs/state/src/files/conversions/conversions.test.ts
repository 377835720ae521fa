import type { ConversionStore, PendingConversion, UploadKey } from '@caribou/core';
import { type StoreFixture, thread, useStore, waitFor } from '@caribou/testing';
import { redisConversions } from './conversions.js';

let store: StoreFixture;
let conversions: ConversionStore;
let file: UploadKey;

useStore((opened) => {
  store = opened;
  conversions = redisConversions(store.redis);
  file = { ...thread(), filename: 'a:b report.pdf' };
});

const source = { sizeBytes: 10, modifiedMs: 1_795_228_800_123.4567 };
const pending: PendingConversion = { status: 'pending', source, attempts: 1 };
const known = async () => (await conversions.read(file, [file.filename, 'other'])).get(file.filename);

describe(redisConversions, () => {
  test('uploads are numbered in their order, read from a number on, and removed with their file', async () => {
    expect(await conversions.uploadsSince(file, 0)).toEqual({ names: [], newest: 0 });
    await conversions.recordUploads(file, ['b:1.txt', 'a.txt']);
    await conversions.recordUploads(file, []);
    await conversions.recordUploads(file, ['c.txt', 'b:1.txt']);

    expect(await conversions.uploadsSince(file, 0)).toEqual({ names: ['a.txt', 'c.txt', 'b:1.txt'], newest: 4 });
    expect(await conversions.uploadsSince(file, 3)).toEqual({ names: ['b:1.txt'], newest: 4 });
    await conversions.forget({ ...file, filename: 'b:1.txt' });
    expect(await conversions.uploadsSince(file, 2)).toEqual({ names: ['c.txt'], newest: 4 });
    expect(await conversions.uploadsSince(file, 4)).toEqual({ names: [], newest: 4 });
  });

  test('a conversion is leased to its first caller until it is settled, and its record is returned unchanged', async () => {
    await conversions.begin(file, pending, { token: 't1', leaseMs: 60_000 });
    expect(await known()).toEqual(pending);
    expect(await conversions.takeOver(file, { token: 't2', leaseMs: 60_000 })).toBeNull();
    expect(await conversions.renew(file, { token: 't2', leaseMs: 60_000 })).toBe(false);
    expect(await conversions.renew(file, { token: 't1', leaseMs: 60_000 }, { ...pending, attempts: 2 })).toBe(true);
    expect(await known()).toEqual({ ...pending, attempts: 2 });

    const done = { status: 'done', source, companion: { name: 'a.md', ...source } } as const;
    expect(await conversions.settle(file, 't2', done)).toBe(false);
    expect(await conversions.settle(file, 't1', done)).toBe(true);
    expect(await known()).toEqual(done);
    expect(await conversions.renew(file, { token: 't1', leaseMs: 60_000 })).toBe(false);
    expect(await conversions.takeOver(file, { token: 't2', leaseMs: 60_000 })).toBeNull();
  });

  test('one of several callers takes over a released or lapsed conversion, and the previous holder has lost it', async () => {
    await conversions.begin(file, pending, { token: 't1', leaseMs: 1 });
    let takers: (PendingConversion | null)[] = [];
    await waitFor(
      async () => {
        takers = await Promise.all(
          ['t2', 't3', 't4'].map((token) => conversions.takeOver(file, { token, leaseMs: 60_000 })),
        );
        return takers.some((taken) => taken !== null);
      },
      { what: 'the lease to run out' },
    );
    expect(takers.filter((taken) => taken !== null)).toEqual([pending]);
    expect(await conversions.settle(file, 't1', { status: 'failed', source, reason: 'late' })).toBe(false);

    const holder = ['t2', 't3', 't4'][takers.findIndex((taken) => taken !== null)] ?? '';
    expect(await conversions.renew(file, { token: holder, leaseMs: 0 })).toBe(true);
    expect(await conversions.takeOver(file, { token: 't5', leaseMs: 60_000 })).toEqual(pending);
  });

  test('a second beginning and a removal end the lease', async () => {
    await conversions.begin(file, pending, { token: 't1', leaseMs: 60_000 });
    await conversions.begin(file, pending, { token: 't2', leaseMs: 60_000 });
    expect(await conversions.renew(file, { token: 't1', leaseMs: 60_000 })).toBe(false);
    expect(await conversions.forget(file)).toEqual(pending);
    expect(await conversions.forget(file)).toBeNull();
    expect(await conversions.renew(file, { token: 't2', leaseMs: 60_000 })).toBe(false);
    expect(await known()).toBeUndefined();
  });

  test('another owner, and the thread after its deletion, have no record of it', async () => {
    await conversions.begin(file, pending, { token: 't1', leaseMs: 60_000 });
    expect((await conversions.read({ ...file, userId: 'other' }, [file.filename])).size).toBe(0);
    await store.threads.createThread(file, {});
    await store.threads.deleteThread(file);
    expect(await known()).toBeUndefined();
  });
});
