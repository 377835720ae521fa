import { createServer } from 'node:net';
import { Secret } from '@caribou/config';
import { bodyOf, noise, readAll, sha256Of } from '../testing/bodies.js';
import { openScripted } from '../testing/open-scripted.js';
import {
  type Answer,
  breakOff,
  cutAfter,
  ok,
  part,
  refuse,
  type ScriptedS3,
  startScriptedS3,
  staySilent,
} from '../testing/scripted-s3.js';
import { EMPTY_SHA256, signRequest } from './sign-request.js';

let server: ScriptedS3;
// Of each test: a request that a client gave up may still arrive at a server on a busy machine.
beforeEach(async () => {
  server = await startScriptedS3();
});
afterEach(() => server.stop());

const emptyList = ok('<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>');

describe('what is sent', () => {
  test('the checksum of the body, a signature and nothing of the secret key', async () => {
    const { store } = openScripted(server.url, { secret_access_key: 'very-secret', session_token: 'a-token' });
    server.play(ok());
    await store.put('a/b', bodyOf('content'));
    const [request] = server.seen;
    expect([request?.method, request?.url, String(request?.body)]).toEqual([
      'PUT',
      '/caribou-test/files/a/b',
      'content',
    ]);
    expect(request?.headers).toMatchObject({
      'content-length': '7',
      'x-amz-content-sha256': sha256Of(Buffer.from('content')),
      'x-amz-security-token': 'a-token',
      authorization: expect.stringMatching(
        /^AWS4-HMAC-SHA256 Credential=an-id\/\d{8}\/us-east-1\/s3\/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
      ),
    });
    expect(JSON.stringify(request?.headers)).not.toContain('very-secret');
  });

  test('a signature is the one of the example in the documentation of Amazon S3', () => {
    // "Signature Calculations for the Authorization Header", GET Bucket (List Objects), docs.aws.amazon.com, November 2026.
    const headers = signRequest(
      {
        method: 'GET',
        url: new URL('https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J'),
        sha256: EMPTY_SHA256,
        nowMs: Date.parse('2013-05-24T00:00:00Z'),
      },
      {
        region: 'us-east-1',
        accessKeyId: new Secret('AKIAIOSFODNN7EXAMPLE'),
        secretAccessKey: new Secret('wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'),
      },
    );
    expect(headers['authorization']).toContain(
      'Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    );
  });
});

describe('lists', () => {
  test('the next page begins behind the last object of the one before', async () => {
    const { store } = openScripted(server.url);
    const page = (name: string, isTruncated: boolean): Answer =>
      ok(
        `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated><Contents><Key>files/${name}</Key><Size>1</Size>` +
          '<LastModified>2026-11-25T12:00:00.000Z</LastModified></Contents></ListBucketResult>',
      );
    server.play(page('a/b', true), page('a/c', false));
    const first = await store.list('a/');
    const second = await store.list('a/', first.next);
    expect([first.next, second.next, second.objects[0]?.key]).toEqual(['a/b', undefined, 'a/c']);
    expect(server.seen.map(({ url }) => new URL(url, server.url).searchParams.get('start-after'))).toEqual([
      null,
      'files/a/b',
    ]);
    expect(new URL(server.seen[1]?.url ?? '', server.url).searchParams.get('prefix')).toBe('files/a/');
  });
});

describe('answers that pass', () => {
  test.each([
    ['503 SlowDown', refuse(503, 'SlowDown')],
    ['500 InternalError', refuse(500, 'InternalError')],
    ['502 without a code', refuse(502)],
    ['429', refuse(429)],
    ['400 RequestTimeout', refuse(400, 'RequestTimeout')],
    ['bytes that were altered on the way', refuse(400, 'XAmzContentSHA256Mismatch')],
    ['a connection that breaks', breakOff],
  ])('%s: the object is sent again as a whole', async (_, answer) => {
    const { store, pauses } = openScripted(server.url);
    server.play(answer, answer, ok());
    const bytes = noise(300_000);
    await store.put('a/b', bodyOf(bytes));
    expect(server.seen.map(({ body }) => body.equals(bytes))).toEqual([true, true, true]);
    expect(pauses).toHaveLength(2);
  });

  test('pauses grow, are longer for a store with too much to do, and as long as it says', async () => {
    const { store, pauses } = openScripted(server.url);
    server.play(
      refuse(500),
      refuse(500),
      refuse(503, 'SlowDown'),
      refuse(503, 'SlowDown', { 'retry-after': '17' }),
      ok(),
    );
    await store.put('a/b', bodyOf('x'));
    const [first = 0, second = 0, third = 0, fourth = 0] = pauses;
    expect(first).toBeGreaterThanOrEqual(50);
    expect(first).toBeLessThanOrEqual(100);
    expect(second).toBeGreaterThanOrEqual(100);
    expect(third).toBeGreaterThanOrEqual(2_000);
    expect(fourth).toBe(17_000);
  });

  test('after the last attempt the failure says what the store answered', async () => {
    const { store, logged } = openScripted(server.url, { max_attempts: 3 });
    server.play(refuse(503, 'SlowDown'));
    await expect(store.put('a/b', bodyOf('x'))).rejects.toMatchObject({
      message: 'object store: it answered HTTP 503, SlowDown: about SlowDown',
      retryable: true,
      details: { dependency: 'objects', reason: 'overloaded', status: 503 },
    });
    expect(server.seen).toHaveLength(3);
    expect(logged.filter((line) => line.includes('objects.failed'))).toHaveLength(1);
  });

  test('a store that never answers is given up in time, with the silence as the reason', async () => {
    const { store } = openScripted(server.url, { silence_timeout_ms: 40, max_attempts: 2 });
    server.play(staySilent);
    const failure = { details: { reason: 'timeout' }, message: 'object store: the store was silent for 40 ms' };
    await expect(store.put('a/b', bodyOf('x'))).rejects.toMatchObject(failure);
    await expect(store.get('a/b')).rejects.toMatchObject(failure);
    await expect(store.list('a/')).rejects.toMatchObject(failure);
  });

  test('all attempts together end at the deadline, with what went wrong last', async () => {
    const { store } = openScripted(server.url, { silence_timeout_ms: 60_000, timeout_ms: 1_000 });
    server.play(refuse(500, 'InternalError'), staySilent);
    await expect(store.head('a/b')).rejects.toMatchObject({ details: { reason: 'failed', status: 500 } });
    server.play(staySilent);
    const hasty = openScripted(server.url, { timeout_ms: 50 });
    await expect(hasty.store.list('a/')).rejects.toThrow('object store: not done within 50 ms');
  });
});

describe('bodies that break', () => {
  const bytes = noise(200_000);

  test('what is missing is asked for by its range', async () => {
    const { store } = openScripted(server.url);
    const rest = { 'content-range': `bytes 70000-199999/200000` };
    server.play(
      cutAfter(bytes, 70_000),
      cutAfter(bytes.subarray(70_000), 30_000, 206, rest),
      part(bytes, 100_000, 199_999),
    );
    const { size, body } = await store.get('a/b');
    expect([size, (await readAll(body)).equals(bytes)]).toEqual([200_000, true]);
    expect(server.seen.map(({ headers }) => headers.range)).toEqual([
      undefined,
      'bytes=70000-199999',
      'bytes=100000-199999',
    ]);
  });

  test('a body that is silent is asked for again', async () => {
    const { store } = openScripted(server.url, { silence_timeout_ms: 300 });
    server.play(
      (response) => {
        response.writeHead(200, { 'content-length': bytes.length });
        response.write(bytes.subarray(0, 1_000));
      },
      part(bytes, 1_000, 199_999),
    );
    expect((await readAll((await store.get('a/b')).body)).equals(bytes)).toBe(true);
  });

  test('one that brings nothing any more fails, and is never taken for the whole', async () => {
    const { store } = openScripted(server.url, { max_attempts: 3 });
    const rest = { 'content-range': `bytes 70000-199999/200000` };
    server.play(cutAfter(bytes, 70_000), cutAfter(bytes.subarray(70_000), 0, 206, rest));
    await expect(readAll((await store.get('a/b')).body)).rejects.toMatchObject({
      code: 'unavailable',
      retryable: true,
      details: { reason: 'unreachable' },
    });
    expect(server.seen).toHaveLength(4);
  });

  test('an object that has another size meanwhile fails', async () => {
    const { store } = openScripted(server.url);
    const other = noise(180_000);
    server.play(cutAfter(bytes, 70_000), cutAfter(other, 1, 206, { 'content-range': 'bytes 70000-179999/180000' }));
    await expect(readAll((await store.get('a/b')).body)).rejects.toMatchObject({ details: { reason: 'altered' } });
  });

  test('a body that is left unread gives its connection back, and can be read later', async () => {
    const { store } = openScripted(server.url);
    server.play(ok(bytes), part(bytes, 0, 199_999));
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'Date', 'performance'] });
    try {
      const { body } = await store.get('a/b');
      jest.advanceTimersByTime(31_000);
      jest.useRealTimers();
      expect((await readAll(body)).equals(bytes)).toBe(true);
    } finally {
      jest.useRealTimers();
    }
    expect(server.seen[1]?.headers.range).toBe('bytes=0-199999');
  });

  test('a store that ignores ranges is refused', async () => {
    const { store } = openScripted(server.url);
    server.play(ok(bytes));
    await expect(store.get('a/b', { start: 1, end: 2 })).rejects.toMatchObject({ details: { reason: 'protocol' } });
  });

  test('a refusal is heard while a large body is being sent', async () => {
    const deaf = createServer((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n'));
      socket.on('error', () => socket.destroy());
    });
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
    const { port } = deaf.address() as { readonly port: number };
    const { store } = openScripted(`http://127.0.0.1:${port}`, { multipart_bytes: 64 * 1024 * 1024 });
    await expect(store.put('a/b', bodyOf(noise(8_000_000)))).rejects.toMatchObject({
      details: { reason: 'permission' },
    });
    deaf.close();
  });
});

describe('refusals that last', () => {
  test.each([
    ['InvalidAccessKeyId', 403, 'credentials', 'check access_key_id'],
    ['XAdminUserNotFound', 404, 'credentials', 'check access_key_id'],
    ['SignatureDoesNotMatch', 403, 'credentials', 'check secret_access_key'],
    ['ExpiredToken', 400, 'credentials', 'set new keys'],
    ['AccessDenied', 403, 'permission', 'the key needs s3:ListBucket'],
    ['NoSuchBucket', 404, 'bucket', 'check bucket, endpoint and addressing'],
    ['AuthorizationHeaderMalformed', 400, 'region', 'check region and endpoint'],
    ['XMinioStorageFull', 507, 'full', 'make space'],
    ['NotImplemented', 501, 'protocol', 'HTTP 501, NotImplemented'],
  ])('%s names what to change, at once', async (code, status, reason, text) => {
    const { store } = openScripted(server.url);
    for (const call of [
      () => store.put('a/b', bodyOf('x')),
      () => store.get('a/b'),
      () => store.list('a/'),
      () => store.remove(['a/b']),
    ]) {
      server.play(refuse(status, code));
      await expect(call()).rejects.toMatchObject({
        message: expect.stringContaining(text),
        details: { reason, status },
      });
      expect(server.seen).toHaveLength(1);
    }
  });

  test('the region of the bucket is named where the store says it', async () => {
    const { store } = openScripted(server.url);
    server.play(refuse(301, 'PermanentRedirect', { 'x-amz-bucket-region': 'eu-west-3' }));
    await expect(store.list('')).rejects.toThrow('the bucket is in the region eu-west-3: set region');
  });

  test('the difference of the clocks is named', async () => {
    const nowMs = Date.parse('2026-11-25T12:20:00Z');
    const { store } = openScripted(server.url, {}, { nowMs: () => nowMs });
    server.play(refuse(403, 'RequestTimeTooSkewed', { date: 'Wed, 25 Nov 2026 12:00:00 GMT' }));
    await expect(store.list('')).rejects.toThrow("differs too much from the store's, by 1200 s ahead: set it");
  });

  test('a missing bucket or a refused key is not a missing object', async () => {
    const { store } = openScripted(server.url);
    server.play(refuse(404), refuse(404, 'NoSuchBucket'));
    await expect(store.head('a/b')).rejects.toMatchObject({ details: { reason: 'bucket' } });
    server.play(refuse(403), refuse(403, 'InvalidAccessKeyId'));
    await expect(store.head('a/b')).rejects.toMatchObject({ details: { reason: 'credentials' } });
    server.play(refuse(404), emptyList, refuse(404));
    expect([await store.head('a/b'), await store.head('a/c')]).toEqual([undefined, undefined]);
    expect(server.seen).toHaveLength(3);
  });

  test('an endpoint that is no store is told from a missing object', async () => {
    const { store } = openScripted(server.url);
    server.play(ok('<html>hello</html>'));
    await expect(store.list('')).rejects.toThrow('an answer is not understood');
    server.play((response) => void response.writeHead(404).end('<html>not found</html>'));
    await expect(store.get('a/b')).rejects.toThrow('check endpoint');
  });

  test('neither errors nor logs have the keys', async () => {
    const { store, logged } = openScripted(server.url, {
      access_key_id: 'AKIDVALUE',
      secret_access_key: 'SECRETVALUE',
    });
    server.play(refuse(500), refuse(403, 'SignatureDoesNotMatch'));
    const error = await store.put('a/b', bodyOf('x')).catch((thrown: unknown) => thrown);
    const text = [...logged, JSON.stringify(error), String(error)].join('\n');
    expect(text).toContain('objects.failed');
    expect(text).not.toMatch(/AKIDVALUE|SECRETVALUE/);
  });
});
