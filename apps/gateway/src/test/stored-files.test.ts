import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { BranchReply, FilePageReply, StateReply, UploadListReply, UploadReply } from '@caribou/contracts';
import type { DocumentConverter } from '@caribou/documents';
import { sha256Of } from '@caribou/files';
import { waitFor } from '@caribou/testing';
import { FORM, partText } from '../testing/file-client.js';
import { useGateways } from '../testing/gateway-fixture.js';
import { CommandFiles, storedFilesConfig } from '../testing/stored-files-client.js';
import { type ThreadClient, useThreadClient } from '../testing/thread-client.js';

const fixture = useGateways();
const KEY = 'alice-key-1';
const API_KEYS = { CARIBOU_API_KEYS: `${KEY}:alice,bob-key-123:bob` };
const converter: DocumentConverter = {
  toMarkdown: async (file) => `# ${file instanceof Uint8Array ? String(file) : await text(file)}`,
};
let client: ThreadClient;
let commands: CommandFiles;

useThreadClient(
  fixture,
  (opened) => {
    client = opened;
  },
  { user: { userId: 'alice', key: KEY }, env: API_KEYS, config: storedFilesConfig(fixture), replaced: { converter } },
);
beforeAll(() => {
  commands = new CommandFiles(fixture);
});

afterEach(() => {
  expect(fixture.faults.splice(0)).toEqual([]);
  expect(existsSync(join(fixture.home, 'users'))).toBe(false);
});

const of = (threadId: string) => ({ userId: 'alice', threadId });

function ask(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD',
  url: string,
  { headers = {}, payload, key = KEY }: { headers?: object; payload?: string | object; key?: string } = {},
) {
  return client.gateway.app.inject({
    method,
    url: `/api/threads/${url}`,
    headers: { 'x-api-key': key, ...headers },
    ...(payload === undefined ? {} : { payload }),
  });
}

const upload = (thread: string, ...parts: readonly { name: string; content: string }[]) =>
  ask('POST', `${thread}/uploads`, {
    headers: FORM,
    payload: `${parts.map(partText).join('')}--caribou-boundary--\r\n`,
  });
const artifact = (thread: string, path: string, headers: object = {}) =>
  ask('GET', `${thread}/artifacts/mnt/user-data/${path}`, { headers });
const listed = async (thread: string): Promise<string[]> =>
  (await ask('GET', `${thread}/uploads/list`)).json<UploadListReply>().files.map(({ filename }) => filename);

describe('files in an object store', () => {
  test('uploads are listed, read and removed', async () => {
    const reply = await upload('up', { name: 'a.txt', content: 'one' }, { name: 'b.txt', content: 'two' });
    expect(reply.json<UploadReply>()).toMatchObject({ success: true, files: [{ filename: 'a.txt', size: 3 }, {}] });
    expect(await listed('up')).toEqual(['a.txt', 'b.txt']);
    expect((await artifact('up', 'uploads/b.txt')).body).toBe('two');
    expect((await ask('GET', 'up/artifacts/mnt/user-data/uploads/a.txt', { key: 'bob-key-123' })).statusCode).toBe(404);
    expect((await ask('DELETE', 'up/uploads/a.txt')).statusCode).toBe(200);
    expect((await ask('DELETE', 'up/uploads/a.txt')).statusCode).toBe(404);
    expect(await listed('up')).toEqual(['b.txt']);
  });

  test('artifacts have ranges and ETags, small and large ones', async () => {
    const large = '0123456789'.repeat(300_000);
    await commands.write(of('art'), { 'outputs/small.txt': '0123456789', 'outputs/large.txt': large });
    for (const [name, content] of [
      ['small.txt', '0123456789'],
      ['large.txt', large],
    ] as const) {
      const whole = await artifact('art', `outputs/${name}`);
      expect([whole.statusCode, whole.body === content]).toEqual([200, true]);
      expect(whole.headers.etag).toBe(`"${sha256Of(Buffer.from(content))}"`);
      const part = await artifact('art', `outputs/${name}`, { range: 'bytes=2-4', 'if-range': whole.headers.etag });
      expect([part.statusCode, part.body, part.headers['content-range']]).toEqual([
        206,
        '234',
        `bytes 2-4/${content.length}`,
      ]);
      expect((await artifact('art', `outputs/${name}`, { 'if-none-match': whole.headers.etag })).statusCode).toBe(304);
    }
    expect((await artifact('art', 'outputs/none.txt')).statusCode).toBe(404);
  });

  test('a text is edited once from what its reader saw', async () => {
    await commands.write(of('edit'), { 'outputs/report.md': 'old' });
    const edit = (content: string) =>
      ask('PUT', 'edit/artifacts/mnt/user-data/outputs/report.md', {
        payload: { content, expected_sha256: sha256Of(Buffer.from('old')) },
      });
    expect((await edit('new')).statusCode).toBe(200);
    expect((await edit('other')).statusCode).toBe(412);
    expect((await artifact('edit', 'outputs/report.md')).body).toBe('new');
  });

  test('a document is converted, and its Markdown goes with it', async () => {
    const { files } = (await upload('doc', { name: 'page.html', content: 'Title' })).json<UploadReply>();
    await waitFor(async () => (await listed('doc')).includes('page.md'), { what: 'the Markdown' });
    expect(files[0]?.filename).toBe('page.html');
    expect((await artifact('doc', 'uploads/page.md')).body).toContain('# Title');
    expect((await ask('DELETE', 'doc/uploads/page.html')).statusCode).toBe(200);
    expect(await listed('doc')).toEqual([]);
  });

  test('a branch at an earlier turn has the files of then', async () => {
    const threadId = await client.newThread();
    await commands.write(of(threadId), { 'outputs/report.md': 'first' });
    await client.turn(threadId, 'K2');
    await commands.write(of(threadId), { 'outputs/report.md': 'second' });
    await client.turn(threadId, 'Eiger');
    const branch = async (answer: string) =>
      (await client.ask<BranchReply>(`/${threadId}/branches`, { message_id: await client.idOf(threadId, answer) }))
        .body;

    const [early, late] = [await branch('about K2'), await branch('about Eiger')];
    expect([early.workspace_clone_mode, late.workspace_clone_mode]).toEqual([
      'historical_turn',
      'current_thread_best_effort',
    ]);
    expect((await artifact(early.thread_id, 'outputs/report.md')).body).toBe('first');
    expect((await artifact(late.thread_id, 'outputs/report.md')).body).toBe('second');
  });

  test('a copy has the files and those of its checkpoints, also when the source is deleted', async () => {
    const threadId = await client.newThread();
    await commands.write(of(threadId), { 'outputs/report.md': 'first' });
    await client.turn(threadId, 'K2');
    await upload(threadId, { name: 'a.txt', content: 'one' });
    const state = await client.ask<StateReply>(`/${threadId}/state`);
    const id = state.body.checkpoint?.checkpoint_id ?? '';
    const { body: copy } = await client.ask<{ thread_id: string }>(`/${threadId}/copy`, {});
    await commands.write(of(copy.thread_id), { 'outputs/report.md': 'second' });
    expect((await artifact(threadId, 'outputs/report.md')).body).toBe('first');
    expect((await ask('DELETE', threadId)).statusCode).toBe(204);

    expect(await listed(copy.thread_id)).toEqual(['a.txt']);
    expect((await artifact(copy.thread_id, 'outputs/report.md')).body).toBe('second');
    const then = await ask('GET', `${copy.thread_id}/files?checkpoint_id=${id}`);
    expect(then.json<FilePageReply>().files.map(({ path }) => path)).toEqual(['/mnt/user-data/outputs/report.md']);
  });

  test('a deleted thread has no files, nor has one that gets its id; an erased user has none', async () => {
    const threadId = await client.newThread();
    await upload(threadId, { name: 'a.txt', content: 'one' });
    expect((await ask('DELETE', threadId)).statusCode).toBe(204);
    expect((await artifact(threadId, 'uploads/a.txt')).statusCode).toBe(404);
    expect((await upload(threadId, { name: 'b.txt', content: 'two' })).statusCode).toBe(200);
    expect(await listed(threadId)).toEqual(['b.txt']);

    const erased = await client.gateway.app.inject({
      method: 'DELETE',
      url: '/api/users/me',
      headers: { 'x-api-key': 'bob-key-123' },
    });
    expect(erased.statusCode).toBe(204);
  });
});
