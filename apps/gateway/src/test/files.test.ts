import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { waitFor } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

interface Part {
  readonly name: string;
  readonly content: string;
  readonly field?: string;
}

const BOUNDARY = 'caribou-boundary';
const partText = ({ name, content, field = 'files' }: Part): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${field}"; filename="${name}"\r\n` +
  `Content-Type: application/octet-stream\r\n\r\n${content}\r\n`;
const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

describe('files of threads', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;
  let port: number;

  const dataOf = (thread: string, user = 'alice'): string =>
    join(fixture.home, 'users', user, 'threads', thread, 'user-data');
  const inject = (
    method: 'GET' | 'POST' | 'DELETE' | 'HEAD',
    url: string,
    { headers = {}, payload, key = 'alice-key-1' }: { headers?: object; payload?: string; key?: string } = {},
  ) =>
    gateway.app.inject({
      method,
      url,
      headers: { 'x-api-key': key, ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
  const upload = (thread: string, ...parts: readonly Part[]) =>
    inject('POST', `/api/threads/${thread}/uploads`, {
      headers: FORM,
      payload: `${parts.map(partText).join('')}--${BOUNDARY}--\r\n`,
    });
  const artifact = (thread: string, path: string, headers: object = {}, method: 'GET' | 'HEAD' = 'GET') =>
    inject(method, `/api/threads/${thread}/artifacts/mnt/user-data/${path}`, { headers });
  const names = (thread: string): string[] => readdirSync(join(dataOf(thread), 'uploads')).sort();

  beforeAll(async () => {
    gateway = await fixture.open({
      config: 'uploads: { max_files: 3, max_file_size: 1000, max_total_size: 2000 }\n',
      env: { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-123:bob' },
    });
    await gateway.app.listen(0, '127.0.0.1');
    port = Number(new URL(await gateway.app.getUrl()).port);
  }, 30_000);

  afterEach(() => expect(fixture.faults.splice(0)).toEqual([]));

  test('an upload before the thread exists is kept, listed, served and deleted', async () => {
    const reply = await upload('early', { name: 'a b.txt', content: 'hello' });
    const file = {
      filename: 'a b.txt',
      size: 5,
      path: '/mnt/user-data/uploads/a b.txt',
      virtual_path: '/mnt/user-data/uploads/a b.txt',
      artifact_url: '/api/threads/early/artifacts/mnt/user-data/uploads/a%20b.txt',
      extension: '.txt',
      modified: expect.any(Number) as number,
    };
    expect({ status: reply.statusCode, body: reply.json<unknown>() }).toEqual({
      status: 200,
      body: { success: true, message: 'Successfully uploaded 1 file(s)', files: [file], skipped_files: [] },
    });
    const list = await inject('GET', '/api/langgraph/threads/early/uploads/list');
    expect(list.json()).toEqual({ files: [file], count: 1, truncated: false });
    expect((await inject('GET', file.artifact_url)).body).toBe('hello');

    const removed = await inject('DELETE', '/api/threads/early/uploads/a%20b.txt');
    expect(removed.json()).toEqual({ success: true, message: 'Deleted a b.txt' });
    expect((await inject('DELETE', '/api/threads/early/uploads/a%20b.txt')).statusCode).toBe(404);
    expect(names('early')).toEqual([]);
  });

  test('limits are told, a thread without files has an empty list, and its files are not there', async () => {
    const limits = await inject('GET', '/api/threads/nothing/uploads/limits');
    expect(limits.json()).toEqual({ max_files: 3, max_file_size: 1000, max_total_size: 2000 });
    expect((await inject('GET', '/api/threads/nothing/uploads/list')).json()).toMatchObject({ files: [], count: 0 });
    expect((await inject('DELETE', '/api/threads/nothing/uploads/a.txt')).statusCode).toBe(404);
    expect((await artifact('nothing', 'uploads/a.txt')).statusCode).toBe(404);
  });

  test("another user neither lists, reads nor deletes a thread's files, and his own are others", async () => {
    await upload('mine', { name: 'secret.txt', content: 'alice' });
    const bob = { key: 'bob-key-123' };
    expect((await inject('GET', '/api/threads/mine/uploads/list', bob)).json()).toMatchObject({ count: 0 });
    const url = '/api/threads/mine/artifacts/mnt/user-data/uploads/secret.txt';
    expect((await inject('GET', url, bob)).statusCode).toBe(404);
    expect((await inject('DELETE', '/api/threads/mine/uploads/secret.txt', bob)).statusCode).toBe(404);
    expect((await inject('GET', url)).body).toBe('alice');
  });

  test('equal names of one request are counted up; one of a later request replaces the file', async () => {
    const reply = await upload('twins', { name: 'a.txt', content: 'one' }, { name: 'x/a.txt', content: 'two' });
    expect(reply.json<{ files: unknown[] }>().files).toMatchObject([
      { filename: 'a.txt' },
      { filename: 'a_1.txt', original_filename: 'a.txt' },
    ]);
    await upload('twins', { name: 'a.txt', content: 'three' });
    expect(names('twins')).toEqual(['a.txt', 'a_1.txt']);
    expect((await artifact('twins', 'uploads/a.txt')).body).toBe('three');
  });

  test('names that cannot be kept are skipped and said, the others are kept', async () => {
    const reply = await upload('names', { name: '..', content: 'x' }, { name: 'CON', content: 'ok' });
    expect(reply.json()).toMatchObject({
      success: false,
      message: 'Successfully uploaded 1 file(s); skipped 1 file(s)',
      files: [{ filename: '_CON' }],
      skipped_files: ['..'],
    });
    const long = await upload('names', { name: 'a'.repeat(4_096), content: 'x' });
    expect(long.json<{ files: unknown[] }>().files).toEqual([]);
    expect(names('names')).toEqual(['_CON']);
  });

  test.each<[string, number, string, () => ReturnType<typeof upload>]>([
    ['no file', 400, 'No files provided', () => upload('bad')],
    ['another field', 400, 'No files provided', () => upload('bad', { name: 'a', content: 'x', field: 'other' })],
    [
      'too many files',
      413,
      'Too many files',
      () => upload('bad', ...['a', 'b', 'c', 'd'].map((name) => ({ name, content: 'x' }))),
    ],
    [
      'a file over the limit',
      413,
      'File too large: big',
      () => upload('bad', { name: 'ok', content: 'x' }, { name: 'big', content: 'x'.repeat(1_001) }),
    ],
    [
      'a request over the limit',
      413,
      'Total upload size too large',
      () => upload('bad', ...['a', 'b', 'c'].map((name) => ({ name, content: 'x'.repeat(900) }))),
    ],
    [
      'a body of another type',
      415,
      'multipart/form-data',
      () =>
        inject('POST', '/api/threads/bad/uploads', { headers: { 'content-type': 'application/json' }, payload: '{}' }),
    ],
    ['no body', 415, 'multipart/form-data', () => inject('POST', '/api/threads/bad/uploads')],
    [
      'a body that ends in the middle',
      400,
      '',
      () =>
        inject('POST', '/api/threads/bad/uploads', { headers: FORM, payload: partText({ name: 'a', content: 'x' }) }),
    ],
    ['a thread id that climbs', 422, 'thread_id', () => upload('..%2f..', { name: 'a', content: 'x' })],
    ['multipart elsewhere', 415, 'application/json', () => inject('POST', '/api/threads', { headers: FORM })],
    ['deleting elsewhere', 400, 'no file name', () => inject('DELETE', '/api/threads/bad/uploads/..%2foutputs%2fa')],
  ])('%s is refused and leaves nothing', async (_, status, words, act) => {
    await upload('bad', { name: 'kept', content: 'old' });
    const { statusCode, body } = await act();
    expect({ status: statusCode, body }).toEqual({ status, body: expect.stringContaining(words) as string });
    expect(names('bad')).toEqual(['kept']);
  });

  test('what is planted under a name is neither written through, nor read, nor listed', async () => {
    await upload('planted', { name: 'a.txt', content: 'x' });
    const [outputs, uploads] = [join(dataOf('planted'), 'outputs'), join(dataOf('planted'), 'uploads')];
    const canary = join(fixture.folder, 'canary');
    writeFileSync(canary, 'canary');
    for (const folder of [outputs, uploads]) {
      symlinkSync(canary, join(folder, 'link'));
      linkSync(canary, join(folder, 'twin'));
      execFileSync('mkfifo', [join(folder, 'fifo')]);
      symlinkSync('/etc', join(folder, 'dir'));
    }
    const reply = await upload('planted', { name: 'link', content: 'evil' }, { name: 'fifo', content: 'evil' });
    expect(reply.json()).toMatchObject({ success: false, files: [], skipped_files: ['link', 'fifo'] });
    for (const name of ['link', 'twin', 'fifo', 'dir/passwd', 'dir']) {
      expect({ name, status: (await artifact('planted', `outputs/${name}`)).statusCode }).toEqual({
        name,
        status: 403,
      });
    }
    expect(readFileSync(canary, 'utf8')).toBe('canary');
  });

  test('an endless upload is answered and cut off, and nothing of it stays', async () => {
    await upload('endless', { name: 'kept', content: 'x' });
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    let closed = false;
    socket.on('data', (bytes: Buffer) => (answer += bytes.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => (closed = true));
    socket.write(
      `POST /api/threads/endless/uploads HTTP/1.1\r\nHost: x\r\nX-Api-Key: alice-key-1\r\n` +
        `Content-Type: ${FORM['content-type']}\r\nContent-Length: 500000000\r\n\r\n${partText({ name: 'a', content: '' }).trimEnd()}\r\n\r\n`,
    );
    const pump = setInterval(() => socket.write('x'.repeat(1_000)), 2);
    await waitFor(() => Promise.resolve(closed), { what: 'the connection to be cut', timeoutMs: 10_000 });
    clearInterval(pump);
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
    expect(names('endless')).toEqual(['kept']);
  }, 20_000);

  test('a connection cut in mid-upload leaves nothing', async () => {
    await upload('cut', { name: 'kept', content: 'x' });
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST /api/threads/cut/uploads HTTP/1.1\r\nHost: x\r\nX-Api-Key: alice-key-1\r\n` +
        `Content-Type: ${FORM['content-type']}\r\nContent-Length: 900\r\n\r\n${partText({ name: 'a', content: 'half' }).trimEnd()}`,
    );
    await waitFor(() => Promise.resolve(names('cut').length === 2), { what: 'the part to be there' });
    socket.destroy();
    await waitFor(() => Promise.resolve(names('cut').length === 1), { what: 'the part to be gone' });
    expect(names('cut')).toEqual(['kept']);
  });

  describe('artifacts', () => {
    const write = (path: string, content: string | Uint8Array): void => {
      const file = join(dataOf('art'), path);
      mkdirSync(join(file, '..'), { recursive: true });
      writeFileSync(file, content);
    };
    beforeAll(async () => {
      await upload('art', { name: 'seed', content: '' });
      write('outputs/report.md', '# Report\n');
      write('outputs/sub/deep.txt', '0123456789');
    });

    test.each<[string, string, string, 'inline' | 'attachment']>([
      ['a.md', '# x', 'text/markdown; charset=utf-8', 'inline'],
      ['a.py', 'print()', 'text/plain; charset=utf-8', 'inline'],
      ['a.js', 'alert(1)', 'text/plain; charset=utf-8', 'inline'],
      ['noext', 'words', 'text/plain; charset=utf-8', 'inline'],
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
      const { statusCode, headers, body } = await artifact('art', `outputs/${name}`);
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
      expect((await artifact('art', url)).headers['content-disposition']).toBe(
        `attachment; filename="a_; x='_.md"; filename*=UTF-8''a%22%3B%20x%3D%27%C3%A9.md`,
      );
      expect((await artifact('art', 'outputs/report.md?download=')).headers['content-disposition']).toMatch(/^inline/);
    });

    test('ranges, conditions and HEAD', async () => {
      const whole = await artifact('art', 'outputs/sub/deep.txt');
      const etag = String(whole.headers.etag);
      const modified = String(whole.headers['last-modified']);
      const ask = async (headers: object, method: 'GET' | 'HEAD' = 'GET') => {
        const answer = await artifact('art', 'outputs/sub/deep.txt', headers, method);
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
      expect((await artifact('art', 'outputs/empty.txt')).headers['content-length']).toBe('0');
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
      const answer = await fetchRaw(port, `/api/threads/art/artifacts/${path}`);
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(answer).not.toContain(fixture.folder);
    });

    test('the answer for a file that does not exist names its path', async () => {
      const answer = await artifact('art', 'outputs/nothing');
      const detail = 'there is no file /mnt/user-data/outputs/nothing';
      expect([answer.statusCode, answer.json<unknown>()]).toEqual([404, { detail }]);
    });

    test('a plain climb in the request line leaves no directory', async () => {
      expect(await fetchRaw(port, '/api/threads/art/artifacts/mnt/user-data/outputs/../../../x')).toMatch(
        /^HTTP\/1.1 403 /,
      );
    });
  });
});

function fetchRaw(port: number, target: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1');
    socket.on('data', (bytes: Buffer) => (answer += bytes.toString('latin1')));
    socket.on('error', reject);
    socket.on('end', () => resolve(answer));
    socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nX-Api-Key: alice-key-1\r\nConnection: close\r\n\r\n`);
  });
}
