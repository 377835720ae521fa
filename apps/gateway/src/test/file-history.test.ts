import { type FileDiffReply, type FilePageReply, newId, type WorkspaceChangesReply } from '@caribou/contracts';
import { createRedis, redisThreadStore } from '@caribou/state';
import { useGateways } from '../testing/gateway-fixture.js';
import { CommandFiles, storedFilesConfig } from '../testing/stored-files-client.js';
import { type ThreadClient, useThreadClient } from '../testing/thread-client.js';

const fixture = useGateways();
const KEY = 'alice-key-1';
let client: ThreadClient;
let commands: CommandFiles;
let threadId: string;
/** The ids of two runs, and of the checkpoints at their ends. */
let runs: string[];
let ends: string[];

useThreadClient(
  fixture,
  (opened) => {
    client = opened;
  },
  {
    user: { userId: 'alice', key: KEY },
    env: { CARIBOU_API_KEYS: `${KEY}:alice,bob-key-123:bob` },
    config: storedFilesConfig(fixture),
  },
);

const headOf = async (): Promise<string> =>
  (await client.ask<{ checkpoint: { checkpoint_id: string } }>(`/${threadId}/state`)).body.checkpoint.checkpoint_id;

/** A run, which changes files after its input was committed. */
async function turn(text: string, contents: Readonly<Record<string, string | null>>): Promise<void> {
  const { body } = await client.start(threadId, { input: { messages: [{ type: 'human', content: text }] } });
  await client.execute(threadId, {}, 'success', () => commands.write({ userId: 'alice', threadId }, contents));
  runs.push(body.run_id);
  ends.push(await headOf());
}

beforeAll(async () => {
  commands = new CommandFiles(fixture);
  threadId = await client.newThread();
  [runs, ends] = [[], []];
  await turn('one', { 'outputs/report.md': 'a\nb\n', 'workspace/data.bin': '\0\x01', 'workspace/gone.txt': 'x' });
  await turn('two', { 'outputs/report.md': 'a\nc\n', 'outputs/sub/new.txt': 'new', 'workspace/gone.txt': null });
});

const get = async <Body>(path: string, key = KEY) => client.ask<Body>(`/${threadId}/files${path}`, undefined, key);
const pathsAt = async (query: string): Promise<string[]> =>
  (await get<FilePageReply>(query)).body.files.map(({ path }) => path.replace('/mnt/user-data/', ''));
const contentOf = (path: string, query = '', headers: object = {}) =>
  client.gateway.app.inject({
    method: 'GET',
    url: `/api/threads/${threadId}/files/content/mnt/user-data/${path}${query}`,
    headers: { 'x-api-key': KEY, ...headers },
  });

describe('files at checkpoints', () => {
  test('are listed by page, directory and checkpoint', async () => {
    expect(await pathsAt('')).toEqual(['outputs/report.md', 'outputs/sub/new.txt', 'workspace/data.bin']);
    expect(await pathsAt(`?checkpoint_id=${ends[0]}`)).toEqual([
      'outputs/report.md',
      'workspace/data.bin',
      'workspace/gone.txt',
    ]);
    expect(await pathsAt('?directory=/mnt/user-data/outputs/sub')).toEqual(['outputs/sub/new.txt']);
    const { body } = await get<FilePageReply>('?limit=2');
    expect(body.files[0]).toMatchObject({ size: 4, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(await pathsAt(`?limit=2&after=${body.next}`)).toEqual(['workspace/data.bin']);
    expect((await get<FilePageReply>(`?limit=5&after=${body.next}`)).body.next).toBeNull();
  });

  test('have contents with ranges and ETags', async () => {
    expect((await contentOf('outputs/report.md')).body).toBe('a\nc\n');
    const then = await contentOf('outputs/report.md', `?checkpoint_id=${ends[0]}`);
    expect(then.body).toBe('a\nb\n');
    const part = await contentOf('outputs/report.md', `?checkpoint_id=${ends[0]}`, { range: 'bytes=2-2' });
    expect([part.statusCode, part.body, part.headers.etag]).toEqual([206, 'b', then.headers.etag]);
    expect((await contentOf('workspace/gone.txt')).statusCode).toBe(404);
    expect((await contentOf('outputs')).statusCode).toBe(400);
  });

  test('differ by file, with diffs of texts', async () => {
    const { body } = await get<FileDiffReply>(`/diff?from=${ends[0]}&to=${ends[1]}`);
    expect(body.summary).toEqual({ added: 1, changed: 1, removed: 1, additions: 2, deletions: 2, truncated: false });
    expect(
      body.files.map(({ path, change, size_before, size_after }) => [path, change, size_before, size_after]),
    ).toEqual([
      ['/mnt/user-data/outputs/report.md', 'changed', 4, 4],
      ['/mnt/user-data/outputs/sub/new.txt', 'added', null, 3],
      ['/mnt/user-data/workspace/gone.txt', 'removed', 1, null],
    ]);
    expect(body.files[0]?.diff).toBe(
      '--- a/mnt/user-data/outputs/report.md\n+++ b/mnt/user-data/outputs/report.md\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n',
    );
  });

  test('changes of a run are in the form of the web client', async () => {
    const changes = async (run: string | undefined, query = '') =>
      (await client.ask<WorkspaceChangesReply>(`/${threadId}/runs/${run}/workspace-changes${query}`)).body;
    const first = await changes(runs[0]);
    if (!first.available) throw new Error('they are not available');
    expect(first.summary).toMatchObject({ created: 3, modified: 0, deleted: 0, additions: 3, truncated: false });
    expect(
      first.files.map(({ root, status, binary, diff_unavailable_reason: why }) => [root, status, binary, why]),
    ).toEqual([
      ['outputs', 'created', false, null],
      ['workspace', 'created', true, 'binary'],
      ['workspace', 'created', false, null],
    ]);
    const second = await changes(runs[1], '?include_files=true&include_diff=false');
    if (!second.available) throw new Error('they are not available');
    expect(second.summary).toMatchObject({ created: 1, modified: 1, deleted: 1 });
    expect(second.files.map(({ diff }) => diff)).toEqual(['', '', '']);
    expect(await changes(runs[1], '?include_files=false')).toMatchObject({ available: true, files: [] });
    expect((await client.ask(`/${threadId}/runs/${newId()}/workspace-changes`)).status).toBe(404);
  });

  test.each([
    ['unknown checkpoint', `?checkpoint_id=${newId()}`, 404],
    ['bad checkpoint', '?checkpoint_id=x', 422],
    ['bad limit', '?limit=1001', 422],
    ['directory elsewhere', '?directory=/etc', 400],
    ['climb', '?directory=/mnt/user-data/outputs/../x', 403],
    ['no point to compare', '/diff', 422],
    ['unknown point', `/diff?from=${newId()}`, 404],
  ])('%s is refused', async (_what, path, status) => {
    expect((await get(path)).status).toBe(status);
  });

  test('of a process that noted none are refused as unknown, and never shown as empty', async () => {
    const older = createRedis({ url: fixture.redis.url });
    fixture.closeAtEnd(() => older.close());
    const view = await redisThreadStore(older).updateState({ userId: 'alice', threadId }, { title: 'a title' });
    const id = view.checkpointId;
    const path = '/mnt/user-data/outputs/report.md';
    const answers = [
      await get(`?checkpoint_id=${id}`),
      await get(`/content${path}?checkpoint_id=${id}`),
      await get(`/diff?from=${id}`),
      await get(`/diff?from=${ends[0]}&to=${id}`),
      await client.ask(`/${threadId}/files/restore`, { checkpoint_id: id }),
      await client.ask(`/${threadId}/files/restore`, { checkpoint_id: id, path }),
    ];
    for (const { status, body } of answers) {
      expect([status, JSON.stringify(body)]).toEqual([409, expect.stringContaining(`checkpoint_id ${id}`)]);
    }
    expect(await pathsAt(`?checkpoint_id=${ends[1]}`)).toHaveLength(3);
  });

  test('belong to their user', async () => {
    expect((await get('', 'bob-key-123')).status).toBe(404);
    expect((await get(`?checkpoint_id=${ends[0]}`, 'bob-key-123')).status).toBe(404);
  });

  test('are restored, one or all, but not all while a run is in flight', async () => {
    const restore = (body: object) => client.ask<{ generation: number }>(`/${threadId}/files/restore`, body);
    const path = '/mnt/user-data/workspace/gone.txt';
    expect((await restore({ checkpoint_id: ends[1], path })).status).toBe(404);
    const one = await restore({ checkpoint_id: ends[0], path });
    expect([one.status, one.body]).toEqual([200, { checkpoint_id: ends[0], path, generation: one.body.generation }]);
    expect((await contentOf('workspace/gone.txt')).body).toBe('x');

    await client.start(threadId, { input: { messages: [{ type: 'human', content: 'three' }] } });
    const busy = await restore({ checkpoint_id: ends[0] });
    expect([busy.status, JSON.stringify(busy.body)]).toEqual([409, expect.stringContaining('a run in flight')]);
    await client.execute(threadId, {});
    expect((await restore({ checkpoint_id: ends[0] })).status).toBe(200);
    expect(await pathsAt('')).toEqual(['outputs/report.md', 'workspace/data.bin', 'workspace/gone.txt']);
    expect((await contentOf('outputs/report.md')).body).toBe('a\nb\n');
    expect((await restore({ checkpoint_id: newId() })).status).toBe(404);
    expect((await restore({ checkpoint_id: 'x' })).status).toBe(422);
  });
});
