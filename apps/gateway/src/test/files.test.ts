import { execFileSync } from 'node:child_process';
import { linkSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { waitFor } from '@caribou/testing';
import { useGateways } from '../testing/gateway-fixture.js';
import { type FileClient, FORM, partText, useFileClient } from '../testing/file-client.js';

const fixture = useGateways();
let files: FileClient;

useFileClient(fixture, (client) => {
  files = client;
});

describe('files of threads', () => {
  test('an upload before the thread exists is kept, listed, served and deleted', async () => {
    const reply = await files.upload('early', { name: 'a b.txt', content: 'hello' });
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
    const list = await files.inject('GET', '/api/langgraph/threads/early/uploads/list');
    expect(list.json()).toEqual({ files: [file], count: 1, truncated: false });
    expect((await files.inject('GET', file.artifact_url)).body).toBe('hello');

    const removed = await files.inject('DELETE', '/api/threads/early/uploads/a%20b.txt');
    expect(removed.json()).toEqual({ success: true, message: 'Deleted a b.txt' });
    expect((await files.inject('DELETE', '/api/threads/early/uploads/a%20b.txt')).statusCode).toBe(404);
    expect(files.names('early')).toEqual([]);
  });

  test('limits are returned; a thread without files has an empty list and 404 for a file', async () => {
    const limits = await files.inject('GET', '/api/threads/nothing/uploads/limits');
    expect(limits.json()).toEqual({ max_files: 3, max_file_size: 1000, max_total_size: 2000 });
    expect((await files.inject('GET', '/api/threads/nothing/uploads/list')).json()).toMatchObject({
      files: [],
      count: 0,
    });
    expect((await files.inject('DELETE', '/api/threads/nothing/uploads/a.txt')).statusCode).toBe(404);
    expect((await files.artifact('nothing', 'uploads/a.txt')).statusCode).toBe(404);
  });

  test("another user neither lists, reads nor deletes a thread's files, and his own are others", async () => {
    await files.upload('mine', { name: 'secret.txt', content: 'alice' });
    const bob = { key: 'bob-key-123' };
    expect((await files.inject('GET', '/api/threads/mine/uploads/list', bob)).json()).toMatchObject({ count: 0 });
    const url = '/api/threads/mine/artifacts/mnt/user-data/uploads/secret.txt';
    expect((await files.inject('GET', url, bob)).statusCode).toBe(404);
    expect((await files.inject('DELETE', '/api/threads/mine/uploads/secret.txt', bob)).statusCode).toBe(404);
    expect((await files.inject('GET', url)).body).toBe('alice');
  });

  test('equal names of one request are numbered; one of a later request replaces the file', async () => {
    const reply = await files.upload('twins', { name: 'a.txt', content: 'one' }, { name: 'x/a.txt', content: 'two' });
    expect(reply.json<{ files: unknown[] }>().files).toMatchObject([
      { filename: 'a.txt' },
      { filename: 'a_1.txt', original_filename: 'a.txt' },
    ]);
    await files.upload('twins', { name: 'a.txt', content: 'three' });
    expect(files.names('twins')).toEqual(['a.txt', 'a_1.txt']);
    expect((await files.artifact('twins', 'uploads/a.txt')).body).toBe('three');
  });

  test('names that cannot be stored are skipped and reported, the others are stored', async () => {
    const reply = await files.upload('names', { name: '..', content: 'x' }, { name: 'CON', content: 'ok' });
    expect(reply.json()).toMatchObject({
      success: false,
      message: 'Successfully uploaded 1 file(s); skipped 1 file(s)',
      files: [{ filename: '_CON' }],
      skipped_files: ['..'],
    });
    const long = await files.upload('names', { name: 'a'.repeat(4_096), content: 'x' });
    expect(long.json<{ files: unknown[] }>().files).toEqual([]);
    expect(files.names('names')).toEqual(['_CON']);
  });

  test.each<[string, number, string, () => ReturnType<FileClient['upload']>]>([
    ['no file', 400, 'No files provided', () => files.upload('bad')],
    ['another field', 400, 'No files provided', () => files.upload('bad', { name: 'a', content: 'x', field: 'other' })],
    [
      'too many files',
      413,
      'Too many files',
      () => files.upload('bad', ...['a', 'b', 'c', 'd'].map((name) => ({ name, content: 'x' }))),
    ],
    [
      'a file over the limit',
      413,
      'File too large: big',
      () => files.upload('bad', { name: 'ok', content: 'x' }, { name: 'big', content: 'x'.repeat(1_001) }),
    ],
    [
      'a request over the limit',
      413,
      'Total upload size too large',
      () => files.upload('bad', ...['a', 'b', 'c'].map((name) => ({ name, content: 'x'.repeat(900) }))),
    ],
    [
      'a body of another type',
      415,
      'multipart/form-data',
      () =>
        files.inject('POST', '/api/threads/bad/uploads', {
          headers: { 'content-type': 'application/json' },
          payload: '{}',
        }),
    ],
    ['no body', 415, 'multipart/form-data', () => files.inject('POST', '/api/threads/bad/uploads')],
    [
      'a body that ends in the middle',
      400,
      '',
      () =>
        files.inject('POST', '/api/threads/bad/uploads', {
          headers: FORM,
          payload: partText({ name: 'a', content: 'x' }),
        }),
    ],
    ['a thread id that climbs', 422, 'thread_id', () => files.upload('..%2f..', { name: 'a', content: 'x' })],
    ['multipart elsewhere', 415, 'application/json', () => files.inject('POST', '/api/threads', { headers: FORM })],
    [
      'deleting elsewhere',
      400,
      'no file name',
      () => files.inject('DELETE', '/api/threads/bad/uploads/..%2foutputs%2fa'),
    ],
  ])('%s is refused and leaves nothing', async (_, status, detail, act) => {
    await files.upload('bad', { name: 'kept', content: 'old' });
    const { statusCode, body } = await act();
    expect({ status: statusCode, body }).toEqual({ status, body: expect.stringContaining(detail) as string });
    expect(files.names('bad')).toEqual(['kept']);
  });

  test('what is planted under a name is neither written through, nor read, nor listed', async () => {
    await files.upload('planted', { name: 'a.txt', content: 'x' });
    const [outputs, uploads] = [join(files.dataOf('planted'), 'outputs'), join(files.dataOf('planted'), 'uploads')];
    const canary = join(fixture.folder, 'canary');
    writeFileSync(canary, 'canary');
    for (const folder of [outputs, uploads]) {
      symlinkSync(canary, join(folder, 'link'));
      linkSync(canary, join(folder, 'twin'));
      execFileSync('mkfifo', [join(folder, 'fifo')]);
      symlinkSync('/etc', join(folder, 'dir'));
    }
    const reply = await files.upload('planted', { name: 'link', content: 'evil' }, { name: 'fifo', content: 'evil' });
    expect(reply.json()).toMatchObject({ success: false, files: [], skipped_files: ['link', 'fifo'] });
    for (const name of ['link', 'twin', 'fifo', 'dir/passwd', 'dir']) {
      expect({ name, status: (await files.artifact('planted', `outputs/${name}`)).statusCode }).toEqual({
        name,
        status: 403,
      });
    }
    expect(readFileSync(canary, 'utf8')).toBe('canary');
  });

  test('an endless upload is refused and cut off, and nothing of it remains', async () => {
    await files.upload('endless', { name: 'kept', content: 'x' });
    const socket = connect(files.port, '127.0.0.1');
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
    await waitFor(() => Promise.resolve(closed), { what: 'the connection to be cut' });
    clearInterval(pump);
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
    expect(files.names('endless')).toEqual(['kept']);
  }, 20_000);

  test('a connection cut in mid-upload leaves nothing', async () => {
    await files.upload('cut', { name: 'kept', content: 'x' });
    const socket = connect(files.port, '127.0.0.1');
    socket.write(
      `POST /api/threads/cut/uploads HTTP/1.1\r\nHost: x\r\nX-Api-Key: alice-key-1\r\n` +
        `Content-Type: ${FORM['content-type']}\r\nContent-Length: 900\r\n\r\n${partText({ name: 'a', content: 'half' }).trimEnd()}`,
    );
    await waitFor(() => Promise.resolve(files.names('cut').length === 2), { what: 'the part to be there' });
    socket.destroy();
    await waitFor(() => Promise.resolve(files.names('cut').length === 1), { what: 'the part to be gone' });
    expect(files.names('cut')).toEqual(['kept']);
  });
});
