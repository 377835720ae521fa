import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { newId } from '@caribou/contracts';
import { createErasedFiles } from '@caribou/files';
import { type RedisConnection, redisErasures, redisRunStore, redisThreadStore } from '@caribou/state';
import { admission, human, waitFor } from '@caribou/testing';
import { scryptPasswords } from '../auth/passwords.js';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const KEYS = { alice: 'alice-key-1', bob: 'bob-key-123', carol: 'carol-key-1' };
const API_KEYS = Object.entries(KEYS)
  .map(([user, key]) => `${key}:${user}`)
  .join(',');
const CONFIG =
  'clocks: {sweep_ms: 60000}\nauth: {enabled: true, local: {allow_registration: true}}\nagents_api: {enabled: true}\n';
const FORM = 'multipart/form-data; boundary=b';
const partOf = (name: string, text: string): string =>
  `--b\r\nContent-Disposition: form-data; name="files"; filename="${name}"\r\n\r\n${text}\r\n--b--\r\n`;

const fixture = useGateways();
let redis: RedisConnection;
const open: OpenGateway[] = [];

/** Gateways that look for what is left only once, when they start, unless they are told otherwise. */
async function start(): Promise<OpenGateway> {
  const passwords = scryptPasswords({ cost: { logN: 10, r: 8, p: 1 } });
  const gateway = await fixture.open({ config: CONFIG, env: { CARIBOU_API_KEYS: API_KEYS }, replaced: { passwords } });
  open.push(gateway);
  return gateway;
}

beforeAll(async () => {
  redis = fixture.connectRedis();
  await start();
});

/** The first gateway's server, listening. */
async function listening(): Promise<Server> {
  const { app } = open[0] ?? (await start());
  const server: Server = app.getHttpServer();
  if (!server.listening) await app.listen(0, '127.0.0.1');
  return server;
}

type User = keyof typeof KEYS;
async function ask(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  url: string,
  given: { user?: User; payload?: object | string; headers?: object } = {},
) {
  const { user = 'alice', payload, headers } = given;
  const reply = await open[0]?.app.inject({
    method,
    url: `/api${url}`,
    headers: { 'x-api-key': KEYS[user], ...headers },
    ...(payload === undefined ? {} : { payload }),
  });
  return { status: reply?.statusCode ?? 0, body: reply?.body ?? '' };
}
const upload = (thread: string, name: string, text: string, user: User = 'alice') =>
  ask('POST', `/threads/${thread}/uploads`, { user, payload: partOf(name, text), headers: { 'content-type': FORM } });
const threadDir = (thread: string, user = 'alice'): string => join(fixture.home, 'users', user, 'threads', thread);
const statusOf = async (thread: string, file: string, user: User = 'alice') =>
  (await ask('GET', `/threads/${thread}/artifacts/mnt/user-data/${file}`, { user })).status;

/** A thread with an upload, an output and a finished run. */
async function usedThread(threadId: string, user: User = 'alice'): Promise<void> {
  expect((await upload(threadId, 'secret.txt', 'secret', user)).status).toBe(200);
  writeFileSync(join(threadDir(threadId, user), 'user-data', 'outputs', 'report.md'), '# secret');
  await finishedRun({ threadId, userId: user });
}

async function finishedRun(thread: { threadId: string; userId: string }, temporary = false): Promise<void> {
  const { kwargs, ...rest } = admission(thread);
  await redisThreadStore(redis).admit({
    ...rest,
    kwargs: { ...kwargs, temporary, input: { messages: [human('hello')] } },
  });
  const claimed = await redisRunStore(redis).claim(thread, newId());
  if (claimed.kind !== 'run') throw new Error(claimed.kind);
  const remember = temporary ? {} : { remember: { agent: 'lead_agent' } };
  await redisRunStore(redis).finish(claimed.lease, { status: 'success', events: [], ...remember });
}

/** Every key of the store that names the thread or user. */
const keysWith = async (word: string): Promise<string[]> =>
  (await redis.use((client) => client.keys('*'))).filter((key) => key.split(':').includes(word));
const expectUnseen = async (thread: string): Promise<void> => {
  expect(await statusOf(thread, 'uploads/secret.txt')).toBe(404);
  expect(await statusOf(thread, 'outputs/report.md')).toBe(404);
  expect(JSON.parse((await ask('GET', `/threads/${thread}/uploads/list`)).body)).toMatchObject({ files: [], count: 0 });
  expect(existsSync(threadDir(thread))).toBe(false);
};
const asideEntries = (): string[] => {
  const aside = join(fixture.home, 'users', '.erased');
  return readdirSync(aside).flatMap((name) => readdirSync(join(aside, name)));
};

const COOKIE = 'csrf_token=';
/** Makes an account and signs in; the headers of its session. */
async function person(path: string, email: string) {
  const payload = { email, password: 'correct horse' };
  const reply = await open[0]?.app.inject({ method: 'POST', url: `/api/v1/auth/${path}`, payload });
  const cookies = [reply?.headers['set-cookie'] ?? []].flat().map((line) => line.slice(0, line.indexOf(';')));
  const token = cookies.find((cookie) => cookie.startsWith(COOKIE))?.slice(COOKIE.length) ?? '';
  return { id: reply?.json<{ id: string }>().id ?? '', headers: { cookie: cookies.join('; '), 'x-csrf-token': token } };
}
const as = async (method: 'GET' | 'DELETE', url: string, headers: Record<string, string>) =>
  (await open[0]?.app.inject({ method, url: `/api${url}`, headers }))?.statusCode;

describe('DELETE of a thread', () => {
  test('its files, uploads, keys and memory jobs are gone, and a new thread of its id sees nothing', async () => {
    await usedThread('gone');
    expect((await ask('DELETE', '/threads/gone')).status).toBe(204);
    await expectUnseen('gone');
    expect(await keysWith('gone')).toEqual([]);
    expect(await redis.use((client) => client.zrange(redis.keys.memoryQueue, 0, -1))).toEqual([]);
    expect((await ask('POST', '/threads', { payload: { thread_id: 'gone' } })).status).toBe(200);
    await expectUnseen('gone');
    expect((await upload('gone', 'new.txt', 'new')).status).toBe(200);
    expect(await statusOf('gone', 'uploads/new.txt')).toBe(200);
  });

  test('an upload during which its thread is deleted is refused, and nothing stays of it', async () => {
    await usedThread('raced');
    const { port } = (await listening()).address() as AddressInfo;
    const [before, after = ''] = partOf('late.txt', 'TEXT').split('TEXT');
    const headers = { 'x-api-key': KEYS.alice, 'content-type': FORM };
    const sending = request({ port, method: 'POST', path: '/api/threads/raced/uploads', headers });
    sending.write(`${before}${'x'.repeat(200_000)}`);
    const uploads = join(threadDir('raced'), 'user-data', 'uploads');
    const isReceiving = () => existsSync(uploads) && readdirSync(uploads).some((name) => name.startsWith('.upload-'));
    await waitFor(isReceiving, { what: 'the upload to begin' });
    expect((await ask('DELETE', '/threads/raced')).status).toBe(204);
    const answered = once(sending, 'response') as Promise<[IncomingMessage]>;
    sending.end(after);
    const [reply] = await answered;
    reply.resume();
    expect([reply.statusCode, await keysWith('raced')]).toEqual([409, []]);
    await expectUnseen('raced');
  });

  test('a temporary thread loses its files when its run ends', async () => {
    expect((await upload('passing', 'secret.txt', 'secret')).status).toBe(200);
    await finishedRun({ threadId: 'passing', userId: 'alice' }, true);
    await expectUnseen('passing');
  });

  test.each(['list', 'create', 'run', 'delete', 'start'])(
    'a gateway that died after the records went: the next to touch the id (%s) ends the deletion',
    async (next) => {
      const threadId = `died-${next}`;
      await usedThread(threadId);
      await redisThreadStore(redis).deleteThread({ userId: 'alice', threadId });
      expect(existsSync(threadDir(threadId))).toBe(true);
      if (next === 'create')
        expect((await ask('POST', '/threads', { payload: { thread_id: threadId } })).status).toBe(200);
      if (next === 'run') {
        const payload = { assistant_id: 'lead_agent', input: {}, if_not_exists: 'create' };
        expect((await ask('POST', `/threads/${threadId}/runs`, { payload })).status).toBe(200);
      }
      if (next === 'delete') expect((await ask('DELETE', `/threads/${threadId}`)).status).toBe(404);
      if (next === 'start') {
        await start();
        await waitFor(() => Promise.resolve(!existsSync(threadDir(threadId))), { what: 'the files to be moved' });
      }
      await expectUnseen(threadId);
    },
  );

  test('a gateway that died after it moved the files: the id is free again, and what was moved is removed', async () => {
    await usedThread('moved');
    await redisThreadStore(redis).deleteThread({ userId: 'alice', threadId: 'moved' });
    const erasure = await redisErasures(redis).findPending({ userId: 'alice', threadId: 'moved' });
    await createErasedFiles(fixture.home).moveThread({ userId: 'alice', threadId: 'moved' }, erasure?.token ?? '');
    expect((await ask('POST', '/threads', { payload: { thread_id: 'moved' } })).status).toBe(200);
    expect((await upload('moved', 'new.txt', 'new')).status).toBe(200);
    await start();
    await waitFor(() => Promise.resolve(asideEntries().every((name) => name === 'moved')), { what: 'the removal' });
    expect(readFileSync(join(threadDir('moved'), 'user-data', 'uploads', 'new.txt'), 'utf8')).toBe('new');
  });

  test('a deletion that is repeated late leaves a later one waiting', async () => {
    const [thread, store] = [{ userId: 'alice', threadId: 'twice' }, redisErasures(redis)];
    await finishedRun(thread);
    await redisThreadStore(redis).deleteThread(thread);
    const first = await store.findPending(thread);
    if (first === null) throw new Error('nothing waits');
    await store.markMoved({ ...first, token: '1' }, 'alice.twice.1');
    expect(await store.findPending(thread)).toEqual(first);
    await store.markMoved(first, 'alice.twice.2');
    expect(await store.findPending(thread)).toBeNull();
  });
});

describe('DELETE of a user', () => {
  test('everything of his is gone, nothing of others, and he can begin again', async () => {
    await usedThread('t1', 'bob');
    await usedThread('hers', 'carol');
    await ask('PUT', '/user-profile', { user: 'bob', payload: { content: 'I am Bob' } });
    const agent = { name: 'helper', description: 'helps', soul: 'be kind' };
    expect((await ask('POST', '/agents', { user: 'bob', payload: agent })).status).toBe(201);
    mkdirSync(join(fixture.home, 'users', 'bob', 'skills', 'installed', 'x'), { recursive: true });
    expect((await ask('DELETE', '/users/bob', { user: 'carol' })).status).toBe(403);
    expect((await ask('DELETE', '/users/me', { user: 'bob' })).status).toBe(204);
    expect(existsSync(join(fixture.home, 'users', 'bob'))).toBe(false);
    expect(await keysWith('bob')).toEqual([]);
    expect(await statusOf('hers', 'uploads/secret.txt', 'carol')).toBe(200);
    expect((await ask('POST', '/threads', { user: 'bob', payload: { thread_id: 't1' } })).status).toBe(200);
    expect(await statusOf('t1', 'uploads/secret.txt', 'bob')).toBe(404);
  });

  test('is refused while a run of his is in flight', async () => {
    const payload = { assistant_id: 'lead_agent', input: {}, if_not_exists: 'create' };
    const { body } = await ask('POST', '/threads/busy/runs', { user: 'bob', payload });
    expect((await ask('DELETE', '/users/me', { user: 'bob' })).status).toBe(409);
    const { run_id } = JSON.parse(body) as { run_id: string };
    expect((await ask('POST', `/threads/busy/runs/${run_id}/cancel?wait=0`, { user: 'bob' })).status).toBeLessThan(300);
    expect((await ask('DELETE', '/users/me', { user: 'bob' })).status).toBe(204);
  });

  test('what a death interrupted is taken up by the next gateway, and until then he makes nothing new', async () => {
    await usedThread('t2', 'bob');
    await redisErasures(redis).beginUser('bob');
    expect((await ask('POST', '/threads', { user: 'bob', payload: {} })).status).toBe(409);
    expect(await statusOf('t2', 'uploads/secret.txt', 'bob')).toBe(409);
    await start();
    const bobs = { userId: 'bob', threadId: 'any' };
    await waitFor(async () => (await redisErasures(redis).findPending(bobs)) === null, { what: 'the erasure' });
    expect(await keysWith('bob')).toEqual([]);
    expect(existsSync(join(fixture.home, 'users', 'bob'))).toBe(false);
  });

  test('a person goes with account and sessions; an administrator not by himself', async () => {
    const admin = await person('initialize', 'root@example.org');
    const guest = await person('register', 'guest@example.org');
    expect(await as('DELETE', '/users/me', admin.headers)).toBe(409);
    expect(await as('DELETE', `/users/${guest.id}`, admin.headers)).toBe(204);
    expect(await as('GET', '/v1/auth/me', guest.headers)).toBe(401);
    expect(await keysWith(guest.id)).toEqual([]);
    const again = await person('register', 'guest@example.org');
    expect(again.id).not.toBe(guest.id);

    await redis.use((client) => client.hset(redis.keys.account(again.id).record, 'admin', '1'));
    const replies = await Promise.all([
      as('DELETE', `/users/${again.id}`, admin.headers),
      as('DELETE', `/users/${admin.id}`, again.headers),
    ]);
    expect(replies.filter((status) => status === 204)).toHaveLength(1);
    expect([401, 403]).toContain(replies.find((status) => status !== 204));
    const left = await Promise.all([admin, again].map(({ headers }) => as('GET', '/v1/auth/me', headers)));
    expect([left.includes(200), left.includes(401)]).toEqual([true, true]);
  });

  test('an administrator whose own erasure has begun, or is over, erases nobody', async () => {
    const store = redisErasures(redis);
    const account = (id: string) => redis.keys.account(id).record;
    for (const id of ['ann', 'ben']) await redis.use((client) => client.hset(account(id), 'admin', '1'));
    await store.beginUser('ben', 'ann');
    await expect(store.beginUser('ann', 'ben')).rejects.toMatchObject({ code: 'forbidden' });
    await store.closeAccount('ben');
    await expect(store.beginUser('ann', 'ben')).rejects.toMatchObject({ code: 'forbidden' });
    expect(await store.findPending({ userId: 'ann', threadId: 't' })).toBeNull();
    const ben = await store.findPending({ userId: 'ben', threadId: 't' });
    if (ben !== null) await store.markMoved(ben, `ben.${ben.token}`);
    await store.closeAccount('ann');
  });

  test('what was uploaded for threads that were never made goes with him, and what is known of it', async () => {
    expect((await upload('never-made', 'secret.txt', 'secret', 'bob')).status).toBe(200);
    expect(await keysWith('never-made')).toHaveLength(1);
    expect((await ask('DELETE', '/users/me', { user: 'bob' })).status).toBe(204);
    expect([await keysWith('bob'), existsSync(join(fixture.home, 'users', 'bob'))]).toEqual([[], false]);
    expect(await statusOf('never-made', 'uploads/secret.txt', 'bob')).toBe(404);
  });
});
