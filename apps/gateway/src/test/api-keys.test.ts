import type { AddressInfo } from 'node:net';
import type { ApiKeyPageReply, ApiKeyReply, IssuedKeyReply } from '@caribou/contracts';
import type { RedisConnection } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const ROOT = 'root-key-12';
const CONFIG = `clocks: {heartbeat_ms: 100}
quotas: {key_requests_per_second: 100, key_request_burst: 200}
`;

const fixture = useGateways();
let gateways: readonly OpenGateway[];
let local: OpenGateway;
let redis: RedisConnection;

beforeAll(async () => {
  const env = { CARIBOU_API_KEYS: `${ROOT}:root:admin,plain-key-1:plain` };
  gateways = [await fixture.open({ config: CONFIG, env }), await fixture.open({ config: CONFIG, env })];
  local = await fixture.open({ config: CONFIG });
  redis = fixture.connectRedis();
}, 60_000);
afterEach(() => expect(fixture.faults.splice(0)).toEqual([]));

interface Sent {
  readonly via?: OpenGateway | undefined;
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

async function send<Body>(method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object, sent: Sent = {}) {
  const { via = gateways[0], key = ROOT, headers = { 'x-api-key': key } } = sent;
  const reply = await via?.app.inject({ method, url: `/api${path}`, headers, ...(payload && { payload }) });
  const body = reply === undefined || reply.body === '' ? {} : reply.json<unknown>();
  return { status: reply?.statusCode, headers: reply?.headers ?? {}, body: body as Body & { detail: string } };
}

async function create(more: object = {}, sent: Sent = {}): Promise<IssuedKeyReply> {
  const { status, headers, body } = await send<IssuedKeyReply>('POST', '/admin/keys', { name: 'robot', ...more }, sent);
  if (status !== 201) throw new Error(JSON.stringify(body));
  expect(headers['cache-control']).toBe('no-store');
  return body;
}
const whoIs = async (key: string, via = gateways[1]) => {
  const { status, body } = await send<{ id: string; system_role: string }>('GET', '/v1/auth/me', undefined, {
    key,
    via,
  });
  return status === 200 ? `${body.id} ${body.system_role}` : status;
};
const listed = async (sent: Sent = {}) => (await send<ApiKeyPageReply>('GET', '/admin/keys', undefined, sent)).body;
const find = async (keyId: string): Promise<ApiKeyReply | undefined> =>
  (await listed()).keys.find(({ key_id }) => key_id === keyId);
const revoke = (keyId: string, sent: Sent = {}) => send('DELETE', `/admin/keys/${keyId}`, undefined, sent);
const rotate = (keyId: string, payload?: object) =>
  send<IssuedKeyReply>('POST', `/admin/keys/${keyId}/rotate`, payload);
async function auditOf(keyId: string) {
  const entries = await redis.use((client) => client.xrange(redis.keys.audit, '-', '+'));
  return entries
    .map(([, fields]) => JSON.parse(fields[1] ?? '{}') as Record<string, unknown>)
    .filter((line) => line['api_key_id'] === keyId);
}

describe('API keys that administrators make', () => {
  test('are shown once, accepted by the other gateway at once, and listed without their secret', async () => {
    const { key, ...shown } = await create({ name: ' robot ', user_id: 'alice' });

    expect(key).toMatch(/^cbu_[\w-]{43}$/);
    expect(await whoIs(key)).toBe('alice user');
    expect(shown).toMatchObject({ source: 'created', name: 'robot', user_id: 'alice', role: 'user', status: 'active' });
    expect(shown).toMatchObject({ created_by: 'root', expires_at: null, last_used_at: null, revoked_at: null });
    await waitFor(async () => (await find(shown.key_id))?.last_used_at !== null, { what: 'the last use' });
    expect({ ...(await find(shown.key_id)), last_used_at: null }).toEqual(shown);
    expect(await send('GET', '/threads/x', undefined, { headers: { authorization: `Bearer ${key}` } })).toMatchObject({
      status: 404,
    });

    const names = await redis.use((client) => client.keys('*'));
    const values = await redis.use((client) => Promise.all(names.map((name) => client.dumpBuffer(name))));
    expect(values.filter((value) => value?.includes(key.slice(4)))).toEqual([]);
    expect(await auditOf(shown.key_id)).toEqual([
      expect.objectContaining({
        ...{ operation: 'api_key.create', user_id: 'alice', verdict: 'ok', decided_by: 'root' },
        ...{ what: '"robot", role user, without an end', decided_from: '127.0.0.1' },
        decided_with: expect.stringMatching(/^[0-9a-f]{12}$/) as string,
      }),
    ]);
  });

  test('revoked at one gateway, a key is refused by the other, and its streams there end', async () => {
    const [{ key, key_id }, other] = [await create({ user_id: 'alice' }), await create({ user_id: 'alice' })];
    await gateways[1]?.app.listen(0, '127.0.0.1');
    const { port } = gateways[1]?.app.getHttpServer().address() as AddressInfo;
    const thread = await send<{ thread_id: string }>('POST', '/threads', {}, { key });
    const url = `http://127.0.0.1:${port}/api/threads/${thread.body.thread_id}/stream`;
    const open = async (secret: string) => (await fetch(url, { headers: { 'x-api-key': secret } })).body?.getReader();
    const [ends, stays] = [await open(key), await open(other.key)];

    expect(await revoke(key_id)).toMatchObject({ status: 204 });
    expect(await whoIs(key)).toBe(401);
    await expect(readToEnd(ends)).rejects.toThrow();
    expect((await stays?.read())?.done).toBe(false);
    await stays?.cancel();

    expect([await whoIs(other.key), (await revoke(key_id)).status, (await revoke('nothing')).status]).toEqual([
      'alice user',
      204,
      404,
    ]);
    expect(await find(key_id)).toMatchObject({ status: 'revoked', revoked_at: expect.any(String) as string });
    expect((await auditOf(key_id)).map(({ operation }) => operation)).toEqual(['api_key.create', 'api_key.revoke']);
  });

  test('a rotated key has another secret; the old one ends at once, or at the end of the overlap', async () => {
    const made = await create({ user_id: 'alice' });
    const second = await rotate(made.key_id);
    expect([await whoIs(made.key), await whoIs(second.body.key)]).toEqual([401, 'alice user']);
    const third = await rotate(made.key_id, { overlap_seconds: 1 });
    expect(third.body).toMatchObject({ label: made.label, previous_valid_until: expect.any(String) as string });
    expect([await whoIs(second.body.key), await whoIs(third.body.key)]).toEqual(['alice user', 'alice user']);
    await waitFor(async () => (await whoIs(second.body.key)) === 401, { what: 'the end of the overlap' });
    expect(await whoIs(third.body.key)).toBe('alice user');

    expect((await rotate(made.key_id, { overlap_seconds: 86_401 })).status).toBe(422);
    await revoke(made.key_id);
    expect([(await rotate(made.key_id)).status, (await rotate('nothing')).status]).toEqual([409, 404]);
  });

  test('a key of a user may nothing of an administrator, one of an administrator may', async () => {
    const [user, admin] = [await create({ user_id: 'alice' }), await create({ role: 'administrator' })];
    expect([await whoIs(user.key), await whoIs(admin.key)]).toEqual(['alice user', 'root admin']);
    for (const sent of [{ key: user.key }, { key: 'plain-key-1' }]) {
      const made = await send('POST', '/admin/keys', { name: 'x', role: 'administrator' }, sent);
      expect([made.status, made.body.detail]).toEqual([403, 'this route is for administrators']);
      expect((await revoke(admin.key_id, sent)).status).toBe(403);
    }
    expect((await create({ name: 'by a key' }, { key: admin.key })).created_by).toBe('root');
  });

  test('a key ends at its time, and bad input is refused with its field', async () => {
    const at = (ms: number) => new Date(Date.now() + ms).toISOString();
    const short = await create({ expires_at: at(1_500) });
    expect(await whoIs(short.key)).toBe('root user');
    await waitFor(async () => (await whoIs(short.key)) === 401, { what: 'the end of the key' });
    expect((await find(short.key_id))?.status).toBe('expired');

    const before = (await listed()).total;
    for (const [body, field] of [
      [{ name: '' }, 'name'],
      [{ name: 'x'.repeat(101) }, 'name'],
      [{ name: 'x', user_id: 'a:b' }, 'user_id'],
      [{ name: 'x', role: 'root' }, 'role'],
      [{ name: 'x', expires_at: 'tomorrow' }, 'expires_at'],
      [{ name: 'x', expires_at: at(-1_000) }, 'expires_at'],
      [{ name: 'x', admin: true }, 'admin'],
    ] as const) {
      const { status, body: answer } = await send('POST', '/admin/keys', body);
      expect([status, JSON.stringify(answer.detail)]).toEqual([422, expect.stringContaining(field)]);
    }
    expect((await listed()).total).toBe(before);
  });

  test('keys of the configuration come first in the pages, and are changed where they are configured', async () => {
    const { keys, total } = await listed();
    expect(keys.slice(0, 2).map(({ user_id, role, source }) => [user_id, role, source])).toEqual([
      ['root', 'administrator', 'configuration'],
      ['plain', 'user', 'configuration'],
    ]);
    const pages: ApiKeyReply[] = [];
    for (let offset = 0; offset < total; offset += 3)
      pages.push(...(await send<ApiKeyPageReply>('GET', `/admin/keys?limit=3&offset=${offset}`)).body.keys);
    expect(pages.map(({ key_id }) => key_id)).toEqual(keys.map(({ key_id }) => key_id));

    const configured = keys[0]?.key_id ?? '';
    for (const answer of [await revoke(configured), await rotate(configured)])
      expect([answer.status, answer.body.detail]).toEqual([409, expect.stringContaining('CARIBOU_API_KEYS')]);
  });

  test('usage and rates count a key by its label, also after a rotation', async () => {
    const made = await create({ user_id: 'alice' });
    const { key } = (await rotate(made.key_id)).body;
    const { body: thread } = await send<{ thread_id: string }>('POST', '/threads', {}, { key });
    const run = { assistant_id: 'lead_agent', input: { messages: [{ type: 'human', content: 'x' }] } };
    const started = await send<{ run_id: string }>('POST', `/threads/${thread.thread_id}/runs`, run, { key });

    expect(started.headers['ratelimit-policy']).toContain('"key";q=200');
    const record = `${redis.keys.runPrefix('alice')}${started.body.run_id}`;
    expect(await redis.use((client) => client.hget(record, 'api_key'))).toBe(made.label);
  });

  test('erasing a user removes the keys of the user', async () => {
    const [gone, stays] = [await create({ user_id: 'zoe' }), await create({ user_id: 'yan' })];
    expect((await send('DELETE', '/users/zoe')).status).toBe(204);
    expect([await whoIs(gone.key), await find(gone.key_id), await whoIs(stays.key)]).toEqual([
      401,
      undefined,
      'yan user',
    ]);
  });

  test('while Redis is away, a made key is a 503, a configured one works, and public routes answer', async () => {
    const { key } = await create();
    fixture.redis.pause();
    try {
      expect(await whoIs(key)).toBe(503);
      expect(await whoIs(ROOT)).toBe('root admin');
      expect((await send('GET', '/ok', undefined, { key })).status).toBe(200);
    } finally {
      fixture.redis.resume();
    }
    await waitFor(async () => (await whoIs(key)) === 'root user', { what: 'the return of Redis' });
    const faults = new Set(fixture.faults.splice(0).map((fault) => /"code":"(\w+)"/.exec(fault)?.[1]));
    expect([...faults]).toEqual(['unavailable']);
  });
});

describe('API keys of a gateway that asks for no credentials', () => {
  test('the first key neither locks the local user out nor is needed, and a bad one is refused', async () => {
    const nobody = { via: local, headers: { host: '127.0.0.1' } };
    const { key, key_id } = await create({ user_id: 'alice' }, nobody);
    const me = async (headers: Record<string, string>) => {
      const { status, body } = await send<{ id: string }>('GET', '/v1/auth/me', undefined, {
        via: local,
        headers: { host: '127.0.0.1', ...headers },
      });
      return status === 200 ? body.id : status;
    };

    expect(await me({})).toBe('default');
    expect(await me({ 'x-api-key': key })).toBe('alice');
    expect(await me({ authorization: `Bearer ${key}` })).toBe('alice');
    expect(await me({ 'x-api-key': 'any key of an SDK' })).toBe('default');
    expect(await me({ 'x-api-key': `cbu_${'x'.repeat(43)}` })).toBe(401);
    expect(await me({ 'x-api-key': key, origin: 'https://evil.example' })).toBe(403);
    expect(
      (await send('GET', '/admin/keys', undefined, { via: local, headers: { host: 'localhost', 'x-api-key': key } }))
        .status,
    ).toBe(403);
    expect([(await listed(nobody)).credentials_required, (await listed()).credentials_required]).toEqual([false, true]);

    expect((await revoke(key_id, nobody)).status).toBe(204);
    expect([await me({ 'x-api-key': key }), await me({})]).toEqual([401, 'default']);
  });
});

async function readToEnd(reader: ReadableStreamDefaultReader | undefined): Promise<void> {
  while ((await reader?.read())?.done === false);
}
