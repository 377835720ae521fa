import { bodyOf, inPieces, noise, sha256Of } from '../testing/bodies.js';
import { openScripted, SMALL_PARTS } from '../testing/open-scripted.js';
import { type Answer, breakOff, ok, refuse, type ScriptedS3, startScriptedS3 } from '../testing/scripted-s3.js';

const bytes = noise(1_077);
const open = (more: Readonly<Record<string, unknown>> = {}) => openScripted(server.url, more, { changes: SMALL_PARTS });

let server: ScriptedS3;
// Of each test: a request that a client gave up may still arrive at a server on a busy machine.
beforeEach(async () => {
  server = await startScriptedS3();
});
afterEach(() => server.stop());

const begun = ok('<InitiateMultipartUploadResult><UploadId>up/1</UploadId></InitiateMultipartUploadResult>');
const stored = (etag: string): Answer => ok('', { etag: `"${etag}"` });
const completed = ok(
  '  \n<?xml version="1.0"?> \n<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>',
);

const requests = (): string[] => server.seen.map(({ method, url }) => `${method} ${url.split('/').at(-1)}`);

describe('small objects', () => {
  test('the checksum of bytes in memory is the one that the caller knows, or is computed', async () => {
    const { store } = open();
    server.play(ok());
    const content = Buffer.from('content');
    const known = 'a'.repeat(64);
    await store.put('a/b', { bytes: content, sha256: known });
    await store.put('a/b', { bytes: content });
    const sent = server.seen.map(({ headers, body }) => [headers['x-amz-content-sha256'], String(body)]);
    expect(sent).toEqual([
      [known, 'content'],
      [sha256Of(content), 'content'],
    ]);
  });
});

describe('objects in parts', () => {
  test('parts of one size are sent with their checksums and put together in order', async () => {
    const { store } = open();
    server.play(begun, stored('e1'), stored('e2'), stored('e<3>'), completed);
    await store.put('a/b', bodyOf(bytes, 150));
    expect(requests()).toEqual([
      'POST b?uploads=',
      'PUT b?partNumber=1&uploadId=up%2F1',
      'PUT b?partNumber=2&uploadId=up%2F1',
      'PUT b?partNumber=3&uploadId=up%2F1',
      'POST b?uploadId=up%2F1',
    ]);
    const parts = server.seen.slice(1, 4);
    expect(parts.map(({ body }) => body.byteLength)).toEqual([400, 400, 277]);
    expect(parts.map(({ headers }) => headers['x-amz-content-sha256'])).toEqual(
      parts.map(({ body }) => sha256Of(body)),
    );
    expect(Buffer.concat(parts.map(({ body }) => body)).equals(bytes)).toBe(true);
    expect(String(server.seen[4]?.body)).toContain('<Part><PartNumber>3</PartNumber><ETag>"e&lt;3&gt;"</ETag></Part>');
  });

  test('a part that fails is sent again, and nothing else', async () => {
    const { store } = open();
    server.play(begun, stored('e1'), refuse(503, 'SlowDown'), breakOff, stored('e2'), stored('e3'), completed);
    let opened = 0;
    const openBody = (): AsyncIterable<Uint8Array> => {
      opened += 1;
      return inPieces(bytes, 150);
    };
    await store.put('a/b', { ...bodyOf(bytes, 150), open: openBody });
    expect(opened).toBe(1);
    expect(requests().filter((request) => request.includes('partNumber=2'))).toHaveLength(3);
  });

  test('an upload that fails for good is removed from the store', async () => {
    const { store } = open({ max_attempts: 2 });
    server.play(begun, stored('e1'), refuse(500), refuse(500), ok());
    await expect(store.put('a/b', bodyOf(bytes, 150))).rejects.toMatchObject({
      details: { reason: 'failed', status: 500 },
    });
    expect(requests().at(-1)).toBe('DELETE b?uploadId=up%2F1');
  });

  test('a body that is not what it says is never put together', async () => {
    const { store } = open();
    server.play(begun, stored('e1'), stored('e2'), ok());
    await expect(store.put('a/b', { ...bodyOf(bytes, 150), sha256: 'f'.repeat(64) })).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(requests()).not.toContain('POST b?uploadId=up%2F1');
    expect(requests().at(-1)).toBe('DELETE b?uploadId=up%2F1');
  });

  test('a failure in the body of 200 is one', async () => {
    const { store } = open();
    const failed = ok('<Error><Code>InternalError</Code></Error>');
    server.play(begun, stored('e1'), stored('e2'), stored('e3'), failed, completed);
    await store.put('a/b', bodyOf(bytes, 150));
    expect(requests().slice(-2)).toEqual(['POST b?uploadId=up%2F1', 'POST b?uploadId=up%2F1']);
  });

  test.each([
    ['there with its size', ok('', {}), { 'content-length': String(bytes.byteLength) }, 'stored'],
    ['missing', refuse(404), {}, 'an upload was removed before it was completed'],
  ])('when the answer to the completion is lost and the object is %s', async (_, answer, headers, outcome) => {
    const { store } = open();
    const head: Answer = (response, request) =>
      'content-length' in headers ? void response.writeHead(200, headers).end() : answer(response, request);
    server.play(begun, stored('1'), stored('2'), stored('3'), breakOff, refuse(404, 'NoSuchUpload'), head, ok());
    const result = await store.put('a/b', bodyOf(bytes, 150)).then(
      () => 'stored',
      (error: unknown) => String(error),
    );
    expect(result).toContain(outcome);
    expect(requests()[6]).toBe('HEAD b');
  });

  test('an object of more parts than S3 takes is refused before anything is sent', async () => {
    const { store } = open();
    server.play(begun);
    const limit = 10_000 * 400;
    await expect(store.put('a/b', { ...bodyOf('x'), size: limit + 1 })).rejects.toMatchObject({
      code: 'too_large',
      details: { limitBytes: limit },
    });
    expect(server.seen).toHaveLength(0);
  });
});

describe('removeLeftovers', () => {
  const upload = (key: string, id: string, initiated: string): string =>
    `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${initiated}</Initiated></Upload>`;

  test('ends the old uploads below the prefix, and no others', async () => {
    const { store } = openScripted(server.url, {}, { nowMs: () => Date.parse('2026-11-25T12:00:00Z') });
    server.play(
      ok(
        `<ListMultipartUploadsResult>${[
          upload('files/a', 'old', '2026-11-24T11:00:00.000Z'),
          upload('files/a', 'new', '2026-11-25T11:30:00.000Z'),
          upload('other/a', 'foreign', '2026-11-24T11:00:00.000Z'),
        ].join('')}</ListMultipartUploadsResult>`,
      ),
      ok(),
    );
    expect(await store.removeLeftovers(3_600_000)).toBe(1);
    expect(requests().slice(1)).toEqual(['DELETE a?uploadId=old']);
  });

  test('a store that does not list uploads has none', async () => {
    const { store } = open();
    server.play(refuse(501, 'NotImplemented'));
    expect(await store.removeLeftovers(0)).toBe(0);
  });
});
