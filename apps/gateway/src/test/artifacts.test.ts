import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { useGateways } from '../testing/gateway-fixture.js';
import { type FileClient, useFileClient } from '../testing/file-client.js';

const fixture = useGateways();
let files: FileClient;

useFileClient(fixture, (client) => {
  files = client;
});

describe('artifacts', () => {
  const write = (path: string, content: string | Uint8Array): void => {
    const file = join(files.dataOf('art'), path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, content);
  };
  beforeAll(async () => {
    await files.upload('art', { name: 'seed', content: '' });
    write('outputs/report.md', '# Report\n');
    write('outputs/sub/deep.txt', '0123456789');
  });

  test.each<[string, string, string, 'inline' | 'attachment']>([
    ['a.md', '# x', 'text/markdown; charset=utf-8', 'inline'],
    ['a.py', 'print()', 'text/plain; charset=utf-8', 'inline'],
    ['a.js', 'alert(1)', 'text/plain; charset=utf-8', 'inline'],
    ['noext', 'detail', 'text/plain; charset=utf-8', 'inline'],
    ['noext.bin', 'a\0b', 'application/octet-stream', 'attachment'],
    ['a.png', '\u0089PNG\0', 'image/png', 'inline'],
    ['a.html', '<script>', 'text/html; charset=utf-8', 'attachment'],
    ['A.HTML', '<script>', 'text/html; charset=utf-8', 'attachment'],
    ['a.svg', '<svg/>', 'image/svg+xml', 'attachment'],
    ['a.xhtml', '<html/>', 'application/xhtml+xml', 'attachment'],
    ['a.xml', '<x/>', 'application/xml', 'attachment'],
    ['a.__proto__', '<x/>', 'text/plain; charset=utf-8', 'inline'],
  ])('%s is served with its type, never sniffed, in a sandbox', async (name, content, type, place) => {
    write(`outputs/${name}`, content);
    const { statusCode, headers, body } = await files.artifact('art', `outputs/${name}`);
    expect({ statusCode, body }).toEqual({ statusCode: 200, body: content });
    expect(headers).toMatchObject({
      'content-type': type,
      'x-content-type-options': 'nosniff',
      'content-security-policy': 'sandbox',
    });
    expect(headers['content-disposition']).toMatch(new RegExp(`^${place};`));
  });

  test('a download has a header that no name can break', async () => {
    const name = 'a"; x=\'é\r.md';
    write(`outputs/${name.replace('\r', '')}`, 'x');
    const url = `outputs/${encodeURIComponent(name.replace('\r', ''))}?download=true`;
    expect((await files.artifact('art', url)).headers['content-disposition']).toBe(
      `attachment; filename="a_; x='_.md"; filename*=UTF-8''a%22%3B%20x%3D%27%C3%A9.md`,
    );
    expect((await files.artifact('art', 'outputs/report.md?download=')).headers['content-disposition']).toMatch(
      /^inline/,
    );
  });

  test('ranges, conditions and HEAD', async () => {
    const whole = await files.artifact('art', 'outputs/sub/deep.txt');
    const etag = String(whole.headers.etag);
    const modified = String(whole.headers['last-modified']);
    const ask = async (headers: object, method: 'GET' | 'HEAD' = 'GET') => {
      const answer = await files.artifact('art', 'outputs/sub/deep.txt', headers, method);
      return [answer.statusCode, answer.body, answer.headers['content-range'], answer.headers['content-length']];
    };
    expect(await ask({ range: 'bytes=2-4' })).toEqual([206, '234', 'bytes 2-4/10', '3']);
    expect(await ask({ range: 'bytes=-2' })).toEqual([206, '89', 'bytes 8-9/10', '2']);
    expect((await ask({ range: 'bytes=10-' })).slice(0, 3)).toEqual([416, expect.any(String), 'bytes */10']);
    expect(await ask({ range: 'bytes=2-4', 'if-range': etag })).toEqual([206, '234', 'bytes 2-4/10', '3']);
    expect(await ask({ range: 'bytes=2-4', 'if-range': '"other"' })).toEqual([200, '0123456789', undefined, '10']);
    expect((await ask({ 'if-none-match': etag })).slice(0, 2)).toEqual([304, '']);
    expect((await ask({ 'if-none-match': '"other"', 'if-modified-since': modified }))[0]).toBe(200);
    expect((await ask({ 'if-modified-since': modified }))[0]).toBe(304);
    expect(await ask({}, 'HEAD')).toEqual([200, '', undefined, '10']);
    write('outputs/sub/deep.txt', 'abcdefghij');
    expect((await ask({ 'if-none-match': etag }))[0]).toBe(200);
    write('outputs/empty.txt', '');
    expect((await files.artifact('art', 'outputs/empty.txt')).headers['content-length']).toBe('0');
  });

  test.each<[string, number]>([
    ['etc/passwd', 400],
    ['mnt/skills/x', 400],
    ['mnt/user-data', 400],
    ['mnt/user-data-evil/outputs/x', 400],
    ['mnt/user-data/secrets/x', 400],
    ['mnt/user-data/outputs', 400],
    ['mnt/user-data/outputs/sub', 400],
    ['mnt/user-data/outputs/nothing', 404],
    ['mnt/user-data/outputs/report.md/x', 403],
    ['mnt/user-data/outputs/%2e%2e/%2e%2e/x', 403],
    ['mnt/user-data/outputs/..%2f..%2fx', 403],
    ['mnt/user-data/outputs/..%5c..%5cx', 403],
    ['mnt/user-data/outputs/%252e%252e%252fx', 404],
    ['mnt/user-data/outputs/a%00b', 400],
    ['mnt/user-data/outputs/a%0ab', 400],
    ['mnt/user-data/outputs/%ff', 400],
    [`mnt/user-data/outputs/${'a'.repeat(4_096)}`, 400],
  ])('%s is answered with %i', async (path, status) => {
    // By socket: clients of the library would resolve the dots themselves.
    const answer = await files.fetchRaw(`/api/threads/art/artifacts/${path}`);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).not.toContain(fixture.folder);
  });

  test('the answer for a file that does not exist names its path', async () => {
    const answer = await files.artifact('art', 'outputs/nothing');
    const detail = 'there is no file /mnt/user-data/outputs/nothing';
    expect([answer.statusCode, answer.json<unknown>()]).toEqual([404, { detail }]);
  });

  test('a plain climb in the request line leaves no directory', async () => {
    expect(await files.fetchRaw('/api/threads/art/artifacts/mnt/user-data/outputs/../../../x')).toMatch(
      /^HTTP\/1.1 403 /,
    );
  });
});
