import { httpRoutes } from '@caribou/contracts';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: readonly unknown[];
  readonly 'x-required-role': string;
}

describe('access', () => {
  const fixture = useGateways({ args: ['--maxmemory', '1gb'] });
  let locked: OpenGateway;
  let local: OpenGateway;
  let published: OpenGateway;

  beforeAll(async () => {
    locked = await fixture.open({ env: { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-123:bob:admin' } });
    local = await fixture.open();
    published = await fixture.open({ env: { CARIBOU_ALLOW_UNAUTHENTICATED: '1' } });
  }, 30_000);

  test('with keys on, an unknown path answers 401 without a key', async () => {
    for (const url of ['/api/nothing', '/API/threads/x', '/API/mcp/config'])
      expect([url, (await locked.app.inject({ url })).statusCode]).toEqual([url, 401]);
  });

  test('a key counts as X-Api-Key and as a bearer token, and an unknown one does not', async () => {
    const search = (headers: Record<string, string>) =>
      locked.app.inject({ method: 'POST', url: '/api/threads/search', headers });
    expect((await search({ 'x-api-key': 'alice-key-1' })).statusCode).toBe(200);
    expect((await search({ authorization: 'Bearer bob-key-123' })).statusCode).toBe(200);
    expect((await search({ 'x-api-key': 'alice-key-2' })).statusCode).toBe(401);
    expect((await search({ authorization: 'Basic alice-key-1' })).statusCode).toBe(401);
  });

  test('with keys off, pages of other origins and names pointed at this machine are refused', async () => {
    const ask = async (gateway: OpenGateway, headers: Record<string, string>) =>
      (await gateway.app.inject({ method: 'POST', url: '/api/threads/count', headers })).statusCode;
    const host = '127.0.0.1:2026';
    expect(await ask(local, { host })).toBe(200);
    expect(await ask(local, { host, origin: 'http://localhost:3000' })).toBe(200);
    expect(await ask(local, { host, origin: 'https://evil.example' })).toBe(403);
    expect(await ask(local, { host, origin: 'null' })).toBe(403);
    expect(await ask(local, { host: 'evil.example:2026', origin: 'http://evil.example:2026' })).toBe(403);
    expect(await ask(local, { host: 'localhost.evil.example' })).toBe(403);
    expect(await ask(published, { host: 'gateway:2026' })).toBe(200);
    expect(await ask(published, { host: '192.168.1.5:2026' })).toBe(200);
    expect(await ask(published, { host: 'evil.example', origin: 'http://evil.example' })).toBe(403);
  });

  test('with sign-in off nobody is asked: who calls is the built-in administrator, or whose key it is', async () => {
    const asked = async (gateway: OpenGateway, url: string, headers: Record<string, string> = {}) =>
      (await gateway.app.inject({ url: `/api/v1/auth/${url}`, headers })).json<unknown>();
    const user = { needs_setup: false, oauth_provider: null };
    expect(await asked(local, 'setup-status')).toEqual({ needs_setup: false, registration_enabled: false });
    expect(await asked(local, 'providers')).toEqual({ providers: [] });
    const cookie = { cookie: 'access_token=stale; csrf_token=x' };
    const admin = { ...user, id: 'default', email: 'default@caribou.invalid', system_role: 'admin' };
    expect(await asked(local, 'me', cookie)).toEqual(admin);
    const key = { 'x-api-key': 'alice-key-1' };
    const alice = { ...user, id: 'alice', email: 'alice@caribou.invalid', system_role: 'user' };
    expect(await asked(locked, 'me', key)).toEqual(alice);

    const account = { email: 'a@b.example', password: '12345678' };
    const change = { current_password: '12345678', new_password: '12345678' };
    const login = { username: account.email, password: account.password };
    for (const [path, payload] of Object.entries({
      initialize: account,
      register: account,
      'login/local': login,
      'change-password': change,
    })) {
      const answer = await local.app.inject({ method: 'POST', url: `/api/v1/auth/${path}`, payload });
      expect([answer.statusCode, answer.json()]).toEqual([
        403,
        { detail: { code: 'sign_in_disabled', message: expect.stringContaining('auth.enabled') as string } },
      ]);
    }
    expect((await local.app.inject({ method: 'POST', url: '/api/v1/auth/logout' })).statusCode).toBe(200);
    const search = await local.app.inject({ method: 'POST', url: '/api/threads/search', headers: cookie, payload: {} });
    expect(search.statusCode).toBe(200);
  });

  test('a local page may call and read where its run is', async () => {
    const headers = {
      origin: 'http://localhost:3000',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-api-key',
    };
    const preflight = await locked.app.inject({ method: 'OPTIONS', url: '/api/threads', headers });
    const answer = await locked.app.inject({ url: '/api/ok', headers: { origin: 'http://localhost:3000' } });

    expect(preflight.statusCode).toBe(204);
    expect(preflight.headers['access-control-allow-origin']).toBe('http://localhost:3000');
    expect(preflight.headers['access-control-allow-headers']).toBe('x-api-key');
    expect(answer.headers['access-control-expose-headers']).toMatch(/Content-Location, Location/);
  });

  test('the OpenAPI document names every route and says what it does and for whom', async () => {
    const document = (await local.app.inject('/openapi.json')).json<{
      paths: Record<string, Record<string, Operation>>;
    }>();
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    const described = operations.map(
      ({ operationId, summary, security, 'x-required-role': role }) =>
        `${operationId} for ${role}${security?.length === 0 ? ' without credentials' : ''}: ${summary}`,
    );

    expect(described.sort()).toEqual(
      httpRoutes
        .map(({ name, role, summary }) => {
          const free = role === 'public' ? ' without credentials' : '';
          return `${name} for ${role}${free}: ${summary}`;
        })
        .sort(),
    );
  });

  test('ready says what is missing', async () => {
    const ready = await local.app.inject('/ready');
    expect({ status: ready.statusCode, body: ready.json<unknown>() }).toEqual({
      status: 503,
      body: {
        status: 'not ready',
        missing: {
          'agent-runner': expect.stringContaining('stream not found') as unknown,
          nats: expect.stringContaining('an agent-runner makes it') as unknown,
          sandbox: expect.any(String) as unknown,
        },
        degraded: {},
      },
    });
    fixture.redis.pause();
    try {
      const paused = await local.app.inject('/ready');
      expect(paused.statusCode).toBe(503);
      expect(paused.json<{ missing: object }>().missing).toHaveProperty('redis');
    } finally {
      fixture.redis.resume();
    }
  }, 20_000);
});
