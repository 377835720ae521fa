import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const MIB = 1024 * 1024;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('texts that people edit', () => {
  const fixture = useGateways();
  let gateways: OpenGateway[];
  let outputs: string;

  const put = (path: string, body: object, { gateway = 0, key = 'alice-key-1' } = {}) =>
    (gateways[gateway] as OpenGateway).app.inject({
      method: 'PUT',
      url: `/api/threads/t1/artifacts/mnt/user-data/${path}`,
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      payload: JSON.stringify(body),
    });
  const get = (path: string) =>
    (gateways[0] as OpenGateway).app.inject({
      method: 'GET',
      url: `/api/threads/t1/artifacts/mnt/user-data/${path}`,
      headers: { 'x-api-key': 'alice-key-1' },
    });
  const write = (name: string, content: string | Buffer): void => writeFileSync(join(outputs, name), content);
  const read = (name: string): string => readFileSync(join(outputs, name), 'utf8');

  beforeAll(async () => {
    const env = { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-123:bob' };
    gateways = await Promise.all([1, 2].map(() => fixture.open({ env })));
    const form = '--b\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\nx\r\n--b--\r\n';
    for (const key of ['alice-key-1', 'bob-key-123']) {
      const headers = { 'x-api-key': key, 'content-type': 'multipart/form-data; boundary=b' };
      const url = '/api/threads/t1/uploads';
      await (gateways[0] as OpenGateway).app.inject({ method: 'POST', url, headers, payload: form });
    }
    outputs = join(fixture.home, 'users', 'alice', 'threads', 't1', 'user-data', 'outputs');
  });

  test('an edit names what it saw by the ETag, and a second one by the answer of the first', async () => {
    write('report.md', '# Old\n');
    const etag = String((await get('outputs/report.md')).headers.etag);
    const first = await put('outputs/report.md', { content: '# Größe\n', expected_sha256: etag.slice(1, -1) });

    const path = '/mnt/user-data/outputs/report.md';
    expect([first.statusCode, first.json()]).toEqual([200, { path, sha256: sha256('# Größe\n'), size: 10 }]);
    const { sha256: seen } = first.json<{ sha256: string }>();
    const second = await put('outputs/report.md', { content: '', expected_sha256: seen.toUpperCase() }, { gateway: 1 });
    expect([second.statusCode, read('report.md')]).toEqual([200, '']);
    expect((await get('outputs/report.md')).headers.etag).toBe(`"${sha256('')}"`);
  });

  test('what has changed since is 412, and stays', async () => {
    write('changed.md', 'newer');
    const answer = await put('outputs/changed.md', { content: 'mine', expected_sha256: sha256('older') });

    expect([answer.statusCode, read('changed.md')]).toEqual([412, 'newer']);
    expect(answer.json<{ detail: string }>().detail).toMatch(/changed\.md has changed since it was read/);
  });

  test('of several edits of one version at two gateways one is taken', async () => {
    write('raced.md', 'start');
    const contents = Array.from({ length: 12 }, (_, at) => `edit ${at}`);
    const answers = await Promise.all(
      contents.map((content, at) =>
        put('outputs/raced.md', { content, expected_sha256: sha256('start') }, { gateway: at % 2 }),
      ),
    );

    const taken = answers.filter(({ statusCode }) => statusCode === 200);
    expect(taken.map((answer) => answer.json<{ sha256: string }>().sha256)).toEqual([sha256(read('raced.md'))]);
    for (const { statusCode } of answers) expect([200, 409, 412]).toContain(statusCode);
  });

  test.each<[string, string, number, string]>([
    ['nothing there', 'outputs/none.md', 404, 'there is no file /mnt/user-data/outputs/none.md'],
    ['a directory', 'outputs/sub', 400, '/mnt/user-data/outputs/sub is a directory'],
    [
      'outside of outputs',
      'workspace/x.md',
      400,
      '/mnt/user-data/workspace/x.md is not in /mnt/user-data/outputs; only files there can be edited',
    ],
    [
      'no name',
      'outputs',
      400,
      '/mnt/user-data/outputs is not in /mnt/user-data/outputs; only files there can be edited',
    ],
    ['a climb', 'outputs/..%2fworkspace/x.md', 403, "the path must not contain '..'"],
    ['a link', 'outputs/link.md', 415, '/mnt/user-data/outputs/link.md is not a regular file'],
    [
      'a binary',
      'outputs/image.png',
      415,
      '/mnt/user-data/outputs/image.png is a binary file; only UTF-8 text can be edited',
    ],
    [
      'no UTF-8',
      'outputs/latin.txt',
      415,
      '/mnt/user-data/outputs/latin.txt is a binary file; only UTF-8 text can be edited',
    ],
    [
      'a file of an archive',
      'outputs/x.skill/SKILL.md',
      415,
      '/mnt/user-data/outputs/x.skill/SKILL.md is inside an archive; only files outside archives can be edited',
    ],
    ['a large file', 'outputs/large.txt', 413, '/mnt/user-data/outputs/large.txt is too large'],
  ])('%s: %s is answered with %i, and nothing changes', async (_, path, status, detail) => {
    mkdirSync(join(outputs, 'sub'), { recursive: true });
    write('image.png', Buffer.from([0x89, 0x50, 0, 1]));
    write('latin.txt', Buffer.from('caf\xe9', 'latin1'));
    write('large.txt', 'x'.repeat(2 * MIB + 1));
    write('target.md', 'secret');
    rmSync(join(outputs, 'link.md'), { force: true });
    symlinkSync('target.md', join(outputs, 'link.md'));
    const answer = await put(path, { content: 'mine', expected_sha256: sha256('secret') });

    expect([answer.statusCode, answer.json<unknown>()]).toEqual([status, { detail }]);
    expect(read('target.md')).toBe('secret');
  });

  test('the content has a bound in bytes, and the hash a form', async () => {
    write('note.md', 'x');
    const body = (content: string) => ({ content, expected_sha256: sha256('x') });

    expect((await put('outputs/note.md', body('é'.repeat(MIB + 1)))).statusCode).toBe(413);
    expect((await put('outputs/note.md', { content: 'y', expected_sha256: 'x' })).statusCode).toBe(422);
    expect((await put('outputs/note.md', { expected_sha256: sha256('x') })).statusCode).toBe(422);
    expect((await put('outputs/note.md', body('y'), { key: 'bob-key-123' })).statusCode).toBe(404);
    expect(read('note.md')).toBe('x');
    expect((await put('outputs/note.md', body('y'.repeat(2 * MIB)))).statusCode).toBe(200);
  });
});
