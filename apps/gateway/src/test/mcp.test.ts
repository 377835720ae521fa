import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { McpConfigReply } from '@caribou/contracts';
import { type RedisConnection, redisSharedDocuments } from '@caribou/state';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const MASK = '********';
const OPERATORS = {
  github: {
    type: 'stdio',
    command: 'npx',
    args: ['-y', 'server-github', '--api-key', 'sk-operator', '--token=abc', '--verbose'],
    env: { GITHUB_TOKEN: '$GITHUB_TOKEN', OTHER: 'operator-secret', PORT: 8080 },
    description: 'Issues',
    x_mine: { kept: true },
  },
  broken: { type: 'carrier-pigeon' },
  none: 'no server',
};
const EVENTS = {
  enabled: true,
  type: 'http',
  url: 'https://events.example.org/mcp?apiKey=in-the-url&region=eu',
  headers: { Authorization: 'Bearer literal-secret' },
  oauth: {
    token_url: 'https://events.example.org/token',
    client_id: 'me',
    client_secret: 'oauth-secret',
    extra_token_params: { pin: '1234' },
  },
  description: 'Events',
};
const SECRETS = [
  'sk-operator',
  'abc"',
  'operator-secret',
  '8080',
  'in-the-url',
  'literal-secret',
  'oauth-secret',
  '1234',
];

const fixture = useGateways();
let redis: RedisConnection;
let gateways: OpenGateway[];

beforeAll(async () => {
  redis = fixture.connectRedis();
  const env = { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-123:bob:admin' };
  gateways = [await fixture.open({ env }), await fixture.open({ env })];
}, 60_000);
beforeEach(async () => {
  writeFileSync(join(fixture.folder, 'extensions_config.json'), JSON.stringify({ mcpServers: OPERATORS, skills: {} }));
  await redis.use((client) => client.del(redis.keys.document('mcp')));
});

async function ask<Body = McpConfigReply & { detail?: string }>(
  method: 'GET' | 'PUT' | 'PATCH' | 'POST',
  payload?: object,
  { gateway = 0, key = 'bob-key-123', url = '/api/mcp/config' } = {},
): Promise<{ status: number; body: Body; text: string }> {
  const request = { method, url, headers: { 'x-api-key': key }, ...(payload === undefined ? {} : { payload }) };
  const answer = await gateways[gateway]?.app.inject(request);
  const text = answer?.body ?? '';
  return { status: answer?.statusCode ?? 0, body: JSON.parse(text) as Body, text };
}
const current = async () => (await ask('GET')).body.mcp_servers;
const put = async (change: Record<string, unknown>) => ask('PUT', { mcp_servers: { ...(await current()), ...change } });
const kept = async () =>
  (await redisSharedDocuments(redis).read('mcp')).value as Record<string, Record<string, unknown>>;

describe('/api/mcp/config', () => {
  test('shows the servers of the operator with the fields that pages read, and no secret', async () => {
    const { status, body, text } = await ask('GET');

    expect(status).toBe(200);
    expect(body.mcp_servers).toEqual({
      github: {
        enabled: true,
        type: 'stdio',
        command: 'npx',
        args: ['-y', 'server-github', '--api-key', MASK, `--token=${MASK}`, '--verbose'],
        env: { GITHUB_TOKEN: '$GITHUB_TOKEN', OTHER: MASK, PORT: MASK },
        url: null,
        headers: {},
        oauth: null,
        description: 'Issues',
        x_mine: { kept: true },
      },
    });
    expect(SECRETS.filter((secret) => text.includes(secret))).toEqual([]);
  });

  test('only administrators get at it', async () => {
    for (const method of ['GET', 'PUT', 'PATCH'] as const)
      expect(
        (await ask(method, { mcp_servers: {}, server_name: 'x', enabled: true }, { key: 'alice-key-1' })).status,
      ).toBe(403);
    const reset = { key: 'alice-key-1', url: '/api/mcp/cache/reset' };
    expect((await ask('POST', {}, reset)).status).toBe(403);
  });

  test('a server that was written is seen at every gateway, masked, and comes back as it was', async () => {
    const written = await put({ events: EVENTS });
    expect(written.status).toBe(200);
    const { body, text } = await ask('GET', undefined, { gateway: 1 });

    expect(body).toEqual(written.body);
    expect(body.mcp_servers['events']).toMatchObject({
      url: `https://events.example.org/mcp?apiKey=${MASK}&region=${MASK}`,
      headers: { Authorization: MASK },
      oauth: { client_id: 'me', client_secret: MASK, extra_token_params: { pin: MASK }, refresh_skew_seconds: 60 },
    });
    expect(SECRETS.filter((secret) => text.includes(secret))).toEqual([]);

    // What a page does: it sends back all it got, with a switch turned.
    const again = await put({ events: { ...body.mcp_servers['events'], enabled: false, description: 'Other' } });
    expect(again.body.mcp_servers['events']).toMatchObject({ enabled: false, description: 'Other' });
    expect((await kept())['servers']?.['events']).toMatchObject({ ...EVENTS, enabled: false, description: 'Other' });
  });

  test('the file is never written, and a server of the operator can only be switched', async () => {
    const before = readFileSync(join(fixture.folder, 'extensions_config.json'), 'utf8');
    const { github } = await current();

    expect((await put({ github: { ...github, enabled: false } })).body.mcp_servers['github']?.enabled).toBe(false);
    expect((await put({})).body.mcp_servers['github']?.enabled).toBe(false);
    expect((await put({ github: { ...github, enabled: true } })).body.mcp_servers['github']?.enabled).toBe(true);
    const other = await put({ github: { ...github, command: 'sh' } });
    expect([other.status, other.body.detail]).toEqual([409, expect.stringContaining('only "enabled"')]);
    const missing = await ask('PUT', { mcp_servers: {} });
    expect([missing.status, missing.body.detail]).toEqual([409, expect.stringContaining('cannot be removed')]);
    expect(readFileSync(join(fixture.folder, 'extensions_config.json'), 'utf8')).toBe(before);
  });

  test.each<[string, Record<string, unknown>, string]>([
    [
      'to another host',
      { url: 'https://evil.example.org/mcp' },
      'events.headers.Authorization: must be given again, as url',
    ],
    ['to a program', { type: 'stdio', command: 'npx' }, 'must be given again'],
    [
      'to another token server',
      { oauth: { ...EVENTS.oauth, client_secret: MASK, token_url: 'https://evil.example.org/t' } },
      'must be given again, as oauth.token_url',
    ],
    ['in another field', { headers: { 'X-Other': MASK } }, 'the mask stands for no secret that is known'],
    ['within another text', { headers: { Authorization: `Bearer ${MASK}` } }, 'the mask stands for no secret'],
  ])('a masked secret does not go %s', async (_, change, detail) => {
    await put({ events: EVENTS });
    const { events } = await current();
    const before = await kept();
    const refused = await put({ events: { ...events, ...change } });

    expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining(detail)]);
    expect(refused.text).not.toContain('secret"');
    expect(await kept()).toEqual(before);
  });

  test.each<[Record<string, unknown>, string]>([
    [
      { type: 'stdio', command: 'npx', args: ['-y', 'evil'] },
      'x.command: servers that start a program must be configured in extensions_config.json',
    ],
    [{ type: 'http' }, 'x.url: a server of type http needs one'],
    [{ type: 'http', url: 'ftp://a.example.org' }, 'x.url: must be an http(s) URL'],
    [{ type: 'http', url: 'https://user:pw@a.example.org' }, 'x.url: must not hold a user or password'],
    [
      { type: 'http', url: 'https://a.example.org', headers: { A: '$REDIS_URL' } },
      'x.$REDIS_URL: not listed in mcp.api_variables',
    ],
    [{ type: 'carrier-pigeon', url: 'https://a.example.org' }, 'x.type: '],
    [
      { type: 'sse', url: 'https://a.example.org', oauth: { grant_type: 'refresh_token', token_url: 'x' } },
      'x.oauth.refresh_token',
    ],
  ])('%j is refused', async (entry, detail) => {
    const { status, body } = await put({ x: entry });

    expect([status, body.detail]).toEqual([422, expect.stringContaining(detail)]);
    expect(await kept()).toBeUndefined();
  });

  test('a name, and the number of servers, has a bound', async () => {
    expect((await put({ ['x'.repeat(65)]: EVENTS })).status).toBe(422);
    expect((await put({ 'a\u0000b': EVENTS })).status).toBe(422);
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`s${at}`, EVENTS]));
    expect((await put(many)).body.detail).toContain('at most 100 servers');
  });

  test('one server is switched by its name, whoever else writes at the same time', async () => {
    const plain = { type: 'http', url: 'https://a.example.org/mcp' };
    await put({ one: plain, two: plain, three: plain });
    const switches = [
      ...['one', 'two', 'three', 'github'].map((server_name, at) =>
        ask('PATCH', { server_name, enabled: false }, { gateway: at % 2 }),
      ),
    ];
    expect((await Promise.all(switches)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(Object.values(await current()).map(({ enabled }) => enabled)).toEqual([false, false, false, false]);
    expect((await ask('PATCH', { server_name: 'nobody', enabled: true })).status).toBe(404);
    expect((await ask('PATCH', { server_name: 'one' })).status).toBe(422);
  });

  test('a reset tells every process to connect anew', async () => {
    const answer = await ask('POST', {}, { url: '/api/mcp/cache/reset' });
    expect([answer.status, answer.body]).toEqual([200, { success: true, message: expect.any(String) as string }]);
    expect(await kept()).toMatchObject({ resets: 1 });
  });
});
