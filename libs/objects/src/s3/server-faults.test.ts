import { objectStoreConfig } from '@caribou/config';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger, systemClock } from '@caribou/core';
import {
  freePort,
  missingForMoto,
  S3_BUCKET,
  type S3Access,
  startMoto,
  startProxy,
  startS3rver,
  type S3TestServer,
  type TestProxy,
  type TestServer,
} from '@caribou/testing';
import { openObjectStore, type OpenedStore, readVerified } from '../index.js';
import { bodyOf, noise, readAll, sha256Of } from '../testing/bodies.js';
import { s3Section } from '../testing/s3-section.js';

let server: TestServer;
let access: S3Access;
let proxy: TestProxy;
beforeAll(async () => {
  ({ server, access } = await startS3rver());
  proxy = await startProxy({ target: server.port });
}, 120_000);
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

const storeAt = (url: string, more: Readonly<Record<string, unknown>> = {}): OpenedStore =>
  openObjectStore(objectStoreConfig(s3Section(url, access, more), '/unused'), silentLogger);
const throughProxy = (more: Readonly<Record<string, unknown>> = {}): OpenedStore => storeAt(proxy.url('http'), more);

const bytes = noise(4_000_000);
const sees = (text: string) => ({ bytes: (seen: Buffer): boolean => seen.includes(text) });

describe('a store that goes away', () => {
  test('in the middle of a put: the object is stored by another attempt', async () => {
    const store = throughProxy();
    const hold = proxy.hold('request', sees('PUT /caribou-test/files/put/a'));
    const put = store.put('put/a', bodyOf(bytes));
    await hold.reached;
    hold.release();
    proxy.cut();
    await put;
    expect((await readAll((await store.get('put/a')).body)).equals(bytes)).toBe(true);
  });

  test('before the answer to a put arrives: the object is there once', async () => {
    const store = throughProxy();
    const lost = proxy.drop('reply', { ...sees('PUT /caribou-test/files/put/b'), in: 'request' });
    const put = store.put('put/b', bodyOf('content'));
    await lost.reached;
    await expect(
      (async () => {
        for (;;) if ((await storeAt(server.url).head('put/b')) !== undefined) return 'stored';
      })(),
    ).resolves.toBe('stored');
    lost.release();
    proxy.cut();
    await put;
    expect((await store.list('put/b')).objects).toHaveLength(1);
  });

  test('in the middle of a get: the rest is read by its range', async () => {
    const store = throughProxy();
    await store.put('get/a', bodyOf(bytes));
    const read: Uint8Array[] = [];
    for await (const piece of (await store.get('get/a')).body) {
      read.push(piece);
      if (read.length === 1) proxy.cut();
    }
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
  });

  test('for good: every method fails with the reason, and works again when it is back', async () => {
    const store = throughProxy({ max_attempts: 2 });
    proxy.refuse();
    proxy.cut();
    const failure = { code: 'unavailable', retryable: true, details: { reason: 'unreachable' } };
    await expect(store.put('away/a', bodyOf('x'))).rejects.toMatchObject(failure);
    await expect(store.get('away/a')).rejects.toMatchObject(failure);
    await expect(store.list('away/')).rejects.toMatchObject(failure);
    await expect(store.remove(['away/a'])).rejects.toMatchObject(failure);
    proxy.accept();
    await store.put('away/a', bodyOf('x'));
  });

  test('nothing that listens, and a host that is not known, are named', async () => {
    const nobody = storeAt(`http://127.0.0.1:${await freePort()}`, { max_attempts: 1 });
    await expect(nobody.list('')).rejects.toThrow('nothing listens there: check endpoint in files.store.s3');
    const unknown = storeAt('http://no-such-host.invalid', { max_attempts: 1 });
    await expect(unknown.list('')).rejects.toMatchObject({ details: { reason: 'unreachable' } });
  });

  test('killed in the middle of a put, and started again', async () => {
    const store = throughProxy({ max_attempts: 20 });
    const hold = proxy.hold('request', sees('PUT /caribou-test/files/kill/a'));
    const put = store.put('kill/a', bodyOf(bytes));
    await hold.reached;
    await server.kill9();
    hold.release();
    await server.restart();
    await put;
    const expected = { size: bytes.byteLength, sha256: sha256Of(bytes) };
    expect((await readAll(readVerified(store, 'kill/a', { expected }))).equals(bytes)).toBe(true);
  }, 60_000);
});

describe('a store that is slow', () => {
  test('is waited for while bytes come', async () => {
    const store = throughProxy({ silence_timeout_ms: 5_000 });
    await store.put('slow/a', bodyOf(noise(500_000)));
    proxy.delay('reply', 5);
    try {
      expect((await readAll((await store.get('slow/a')).body)).byteLength).toBe(500_000);
    } finally {
      proxy.delay('reply', 0);
    }
  });

  test('and then silent in the middle of a get is given up, with the reason', async () => {
    const store = throughProxy({ silence_timeout_ms: 150, max_attempts: 2 });
    await storeAt(server.url).put('silent/a', bodyOf(bytes));
    const hold = proxy.hold('reply', { ...sees('GET /caribou-test/files/silent/a'), in: 'request' });
    await expect(store.get('silent/a')).rejects.toMatchObject({ details: { reason: 'timeout' } });
    hold.release();
    proxy.cut();
  });
});

describe('a wrong key, bucket or time', () => {
  test('an unknown key and a missing bucket are told apart by every method', async () => {
    await expectRefusals(server.url, access, [
      [{ access_key_id: 'OTHER' }, 'credentials', 'check access_key_id'],
      [{ bucket: 'no-such-bucket' }, 'bucket', 'the bucket does not exist'],
    ]);
  });

  test('a clock that is wrong is named', async () => {
    const settings = objectStoreConfig(s3Section(server.url, access), '/unused');
    const clock = { ...systemClock, now: () => Date.now() - 3_600_000 };
    const store = openObjectStore(settings, silentLogger, clock);
    await expect(store.list('')).rejects.toMatchObject({
      message: expect.stringContaining("the clock of this machine differs too much from the store's"),
      details: { reason: 'clock' },
    });
  });

  test('an object that was altered in the store is not taken for what it was', async () => {
    const store = storeAt(server.url);
    await store.put('altered/a', bodyOf(bytes));
    const folder = join(server.dataDir, S3_BUCKET, 'files', 'altered');
    const file = readdirSync(folder).find((name) => name.endsWith('_object')) ?? '';
    writeFileSync(join(folder, file), Buffer.from(bytes).fill(0, 10, 20));
    const expected = { size: bytes.byteLength, sha256: sha256Of(bytes) };
    await expect(readAll(readVerified(store, 'altered/a', { expected }))).rejects.toMatchObject({
      details: { reason: 'altered' },
    });
  });
});

type Refusal = readonly [more: Readonly<Record<string, unknown>>, reason: string, text: string];

async function expectRefusals(url: string, known: S3Access, refusals: readonly Refusal[]): Promise<void> {
  for (const [more, reason, text] of refusals) {
    const store = openObjectStore(objectStoreConfig(s3Section(url, known, more), '/unused'), silentLogger);
    const failure = { retryable: false, message: expect.stringContaining(text), details: { reason } };
    await expect(store.put('a/b', bodyOf('x'))).rejects.toMatchObject(failure);
    await expect(store.get('a/b')).rejects.toMatchObject(failure);
    await expect(store.head('a/b')).rejects.toMatchObject(failure);
    await expect(store.list('')).rejects.toMatchObject(failure);
    await expect(store.remove(['a/b'])).rejects.toMatchObject(failure);
  }
}

const missing = missingForMoto();
if (missing !== null) process.stderr.write(`skipped: signatures and unfinished uploads on moto (${missing})\n`);
(missing === null ? describe : describe.skip)('a server that checks signatures', () => {
  let moto: S3TestServer;
  beforeAll(async () => {
    moto = await startMoto();
  }, 120_000);
  afterAll(() => moto.server.stop());

  test('a wrong secret and an unknown key are told apart by every method', async () => {
    await expectRefusals(moto.server.url, moto.access, [
      [{ secret_access_key: 'OTHER' }, 'credentials', 'check secret_access_key'],
      [{ access_key_id: 'OTHER' }, 'credentials', 'check access_key_id'],
    ]);
  });

  test('an unfinished upload is removed by its age', async () => {
    const proxied = await startProxy({ target: moto.server.port });
    const store = openObjectStore(
      objectStoreConfig(s3Section(proxied.url('http'), moto.access, { max_attempts: 1 }), '/unused'),
      silentLogger,
    );
    // Nothing comes through after the upload has begun, so that it cannot be removed at once.
    const hold = proxied.hold('request', sees('partNumber=1'));
    const put = store.put('big/a', bodyOf(noise(6 * 1024 * 1024)));
    await hold.reached;
    proxied.refuse();
    proxied.cut();
    await expect(put).rejects.toMatchObject({ details: { reason: 'unreachable' } });
    proxied.accept();
    hold.release();
    // The uploads of moto began in 2010.
    expect([await store.removeLeftovers(3_600_000), await store.removeLeftovers(3_600_000)]).toEqual([1, 0]);
    await proxied.stop();
  });
});
