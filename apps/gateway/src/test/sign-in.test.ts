import type { AddressInfo } from 'node:net';
import { DEFAULT_USER_ID, httpRoutes } from '@caribou/contracts';
import { parseCookie } from 'cookie';
import { scryptPasswords } from '../auth/passwords.js';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

jest.setTimeout(60_000);

const SECTION = `clocks: {heartbeat_ms: 100}
auth:
  enabled: true
  local: {allow_registration: true}
  max_failures_per_account: 3
  trusted_proxies: [10.0.0.1]
`;
const ANN = { email: 'Ann@Example.org', password: 'correct horse' };

const fixture = useGateways();
let gateways: OpenGateway[];

beforeAll(async () => {
  const env = { CARIBOU_API_KEYS: 'robot-key-1:robot', CARIBOU_ALLOW_UNAUTHENTICATED: '1' };
  // The cost of a real hash is tested in passwords.test.ts.
  const passwords = scryptPasswords({ cost: { logN: 10, r: 8, p: 1 } });
  const open = () => fixture.open({ config: SECTION, env, replaced: { passwords } });
  gateways = [await open(), await open()];
});

interface Asked {
  readonly status: number;
  readonly body: Record<string, unknown> & { readonly detail?: { code?: string } | string };
  readonly headers: Readonly<Record<string, unknown>>;
  readonly setCookies: readonly string[];
}
interface Asking {
  readonly gateway?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload?: object | string;
  readonly remoteAddress?: string;
}

async function ask(method: 'GET' | 'POST' | 'DELETE', path: string, asking: Asking = {}): Promise<Asked> {
  const { gateway = 0, ...rest } = asking;
  const answer = await gateways[gateway]?.app.inject({ method, url: `/api/${path}`, ...rest });
  const { statusCode: status = 0, headers = {}, body = '' } = answer ?? {};
  const setCookies = [headers['set-cookie'] ?? []].flat();
  return { status, headers, setCookies, body: body === '' ? {} : (JSON.parse(body) as Asked['body']) };
}

/** What a browser sends with its requests once these cookies are set; the page adds the token. */
function browserOf({ setCookies }: Asked): Record<string, string> {
  const cookies = setCookies.map((line) => line.slice(0, line.indexOf(';')));
  return { cookie: cookies.join('; '), 'x-csrf-token': parseCookie(cookies.join('; '))['csrf_token'] ?? '' };
}
const signIn = (email: string, password: string, asking: Asking & { remember?: string } = {}): Promise<Asked> => {
  const { remember = 'true', headers, ...rest } = asking;
  const payload = new URLSearchParams({ username: email, password, remember_me: remember }).toString();
  const type = { 'content-type': 'application/x-www-form-urlencoded', ...headers };
  return ask('POST', 'v1/auth/login/local', { ...rest, payload, headers: type });
};
const ann = async (gateway = 0) => browserOf(await signIn(ANN.email, ANN.password, { gateway }));
const codeOf = ({ status, body: { detail } }: Asked) => [status, typeof detail === 'object' ? detail.code : detail];
const byStatus = ([one]: unknown[], [other]: unknown[]): number => Number(one) - Number(other);
const me = (headers: Record<string, string>, gateway = 0) => ask('GET', 'v1/auth/me', { headers, gateway });

describe('sign-in', () => {
  test('the flow of the page: set up by one of two at once, ask who I am, start a run, sign out everywhere', async () => {
    expect((await ask('GET', 'v1/auth/setup-status')).body).toEqual({ needs_setup: true, registration_enabled: true });
    expect((await ask('GET', 'v1/auth/providers')).body).toEqual({ providers: [] });
    expect(codeOf(await ask('POST', 'v1/auth/register', { payload: ANN }))).toEqual([409, 'system_not_initialized']);
    const setUp = (gateway: number) =>
      ask('POST', 'v1/auth/initialize', { gateway, payload: { ...ANN, remember_me: true } });
    const both = await Promise.all([setUp(0), setUp(1)]);
    expect(both.map(codeOf).sort(byStatus)).toEqual([
      [201, undefined],
      [409, 'system_already_initialized'],
    ]);
    expect(codeOf(await setUp(0))).toEqual([409, 'system_already_initialized']);
    expect((await ask('GET', 'v1/auth/setup-status', { gateway: 1 })).body['needs_setup']).toBe(false);

    const first = browserOf(both.find(({ status }) => status === 201) as Asked);
    expect((await me(first)).body['id']).toBe(DEFAULT_USER_ID);
    const browser = browserOf(await signIn(ANN.email, ANN.password));
    expect((await me(browser, 1)).body).toEqual({
      id: DEFAULT_USER_ID,
      email: 'ann@example.org',
      system_role: 'admin',
      needs_setup: false,
      oauth_provider: null,
    });
    const threadId = '5d4c2c1a-0000-4000-8000-000000000001';
    const page = { headers: browser, gateway: 1 };
    expect((await ask('POST', 'langgraph/threads', { ...page, payload: { thread_id: threadId } })).status).toBe(200);
    const run = { assistant_id: 'lead_agent', input: { messages: [{ type: 'human', content: 'hello' }] } };
    expect((await ask('POST', `langgraph/threads/${threadId}/runs`, { ...page, payload: run })).status).toBe(200);

    const out = await ask('POST', 'v1/auth/logout', { headers: { cookie: browser['cookie'] ?? '' }, gateway: 1 });
    expect([out.status, ...out.setCookies]).toEqual([
      200,
      expect.stringMatching(/^access_token=;.*Max-Age=0/),
      expect.stringMatching(/^csrf_token=;.*Max-Age=0/),
    ]);
    for (const gateway of [0, 1]) expect(codeOf(await me(browser, gateway))).toEqual([401, 'token_invalid']);
    expect((await ask('POST', 'v1/auth/logout')).status).toBe(200);
  });

  test('a GET that ends a run with its connection needs the token or a page of ours, as another site may open it', async () => {
    const { cookie = '', 'x-csrf-token': token = '' } = await ann();
    const unknown = '5d4c2c1a-0000-4000-8000-00000000000f';
    const url = (query: string) => `langgraph/threads/${unknown}/runs/${unknown}/join?${query}`;
    const asked = async (headers: Record<string, string>, query = 'cancel_on_disconnect=true') =>
      codeOf(await ask('GET', url(query), { headers: { cookie, ...headers } }))[0];
    for (const foreign of [{}, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }])
      expect(await asked(foreign)).toBe(403);
    for (const own of [{ 'x-csrf-token': token }, { 'sec-fetch-site': 'same-origin' }])
      expect(await asked(own)).toBe(404);
    expect(await asked({ 'sec-fetch-site': 'cross-site' }, '')).toBe(404);
  });

  test('a login sets the two cookies of the contract, and a wrong one tells nothing', async () => {
    const good = await signIn('ann@EXAMPLE.org', ANN.password);
    expect(good.body).toEqual({ expires_in: 2_592_000, needs_setup: false });
    expect(good.setCookies).toEqual([
      expect.stringMatching(/^access_token=default\.[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/),
      expect.stringMatching(/^csrf_token=[\w-]{43}; Max-Age=2592000; Path=\/; SameSite=Strict$/),
    ]);
    const short = await signIn(ANN.email, ANN.password, { remember: 'false' });
    expect([short.body['expires_in'], short.setCookies.join()]).toEqual([
      86_400,
      expect.not.stringContaining('Max-Age'),
    ]);
    const [wrong, unknown] = [await signIn(ANN.email, 'wrong'), await signIn('eve@example.org', 'wrong')];
    expect(codeOf(wrong)).toEqual([401, 'invalid_credentials']);
    expect([unknown.status, unknown.body, unknown.setCookies]).toEqual([401, wrong.body, []]);
  });

  test('cookies are secure when a trusted proxy says https, and nobody else can say so', async () => {
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.9', host: 'gateway:2026' };
    const said = async (remoteAddress: string) =>
      (await signIn(ANN.email, ANN.password, { headers, remoteAddress })).setCookies;
    for (const line of await said('10.0.0.1')) expect(line).toContain('; Secure');
    for (const line of await said('10.0.0.2')) expect(line).not.toContain('Secure');
    const origin = { ...headers, 'x-forwarded-host': 'app.example.org', origin: 'https://app.example.org' };
    const through = (remoteAddress: string) => signIn(ANN.email, ANN.password, { headers: origin, remoteAddress });
    expect([(await through('10.0.0.1')).status, (await through('10.0.0.2')).status]).toEqual([200, 403]);
  });

  test('what changes anything needs the token of this very session, and a page that may call', async () => {
    const browser = await ann();
    const cookie = browser['cookie'] ?? '';
    const search = (headers: Record<string, string>, path = 'threads/search') =>
      ask('POST', path, { headers, payload: {} });
    const forged = `${cookie.replace(/csrf_token=[^;]*/, 'csrf_token=mine')}`;
    const foreign = (await ann())['x-csrf-token'] ?? '';
    for (const path of ['threads/search', 'langgraph/threads/search']) {
      expect((await search(browser, path)).status).toBe(200);
      for (const headers of [
        { cookie },
        { cookie: forged, 'x-csrf-token': 'mine' },
        { cookie, 'x-csrf-token': foreign },
      ])
        expect(codeOf(await search(headers, path))).toEqual([403, 'csrf_token_invalid']);
    }
    for (const origin of ['https://evil.example', 'null'])
      for (const path of [
        'threads/search',
        'v1/auth/login/local',
        'v1/auth/logout',
        'v1/auth/change-password',
        'v1/auth/register',
      ])
        expect((await search({ ...browser, origin }, path)).status).toBe(403);
    expect((await search({ ...browser, origin: 'http://localhost:3000' })).status).toBe(200);
    expect((await me({ cookie })).status).toBe(200);
  });

  test('a form is taken by the login alone, and strangers send little', async () => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const form = { headers: { ...(await ann()), ...type }, payload: 'email=a%40b.example&password=12345678' };
    for (const path of ['threads', 'v1/auth/register']) expect((await ask('POST', path, form)).status).toBe(415);
    const big = { payload: { ...ANN, x: 'y'.repeat(20_000) } };
    expect((await ask('POST', 'v1/auth/register', big)).status).toBe(413);
    expect((await signIn(ANN.email, 'y'.repeat(20_000))).status).toBe(413);
    for (const bad of [{ email: 'no-mail', password: '12345678' }, { email: 'a@b.example', password: 'short' }, {}])
      expect((await ask('POST', 'v1/auth/register', { payload: bad })).status).toBe(422);
  });

  test('each person has threads of his own, and administration is for the administrator', async () => {
    const bob = { email: 'bob@example.org', password: 'hunter2hunter2' };
    const made = await ask('POST', 'v1/auth/register', { payload: bob });
    expect([made.status, made.body]).toEqual([201, expect.objectContaining({ email: bob.email, system_role: 'user' })]);
    expect(codeOf(await ask('POST', 'v1/auth/register', { payload: bob }))).toEqual([409, 'email_already_exists']);
    const [bobs, anns] = [browserOf(made), await ann(1)];
    const mine = await ask('POST', 'threads', { headers: anns, payload: {} });
    const path = `threads/${String(mine.body['thread_id'])}`;
    expect((await ask('GET', path, { headers: anns, gateway: 1 })).status).toBe(200);
    expect((await ask('GET', path, { headers: bobs })).status).toBe(404);
    expect([
      (await ask('GET', 'mcp/config', { headers: bobs })).status,
      (await ask('GET', 'mcp/config', { headers: anns })).status,
    ]).toEqual([403, 200]);
    const token = parseCookie(bobs['cookie'] ?? '')['access_token'] ?? '';
    expect((await me({ cookie: `access_token=${DEFAULT_USER_ID}.${token.slice(-43)}` })).status).toBe(401);
  });

  test('a changed password ends all other sessions, at every gateway', async () => {
    const carl = { email: 'carl@example.org', password: 'first password' };
    const [here, there] = [
      browserOf(await ask('POST', 'v1/auth/register', { payload: carl })),
      browserOf(await signIn(carl.email, carl.password, { gateway: 1 })),
    ];
    const change = (current_password: string, new_email?: string) =>
      ask('POST', 'v1/auth/change-password', {
        headers: { cookie: here['cookie'] ?? '' },
        payload: {
          current_password,
          new_password: 'second password',
          ...(new_email === undefined ? {} : { new_email }),
        },
      });
    expect(codeOf(await change('wrong'))).toEqual([400, 'invalid_credentials']);
    expect(codeOf(await change(carl.password, ANN.email))).toEqual([409, 'email_already_exists']);
    expect((await me(there, 1)).status).toBe(200);
    const changed = await change(carl.password, 'carl@example.net');
    expect(changed.status).toBe(200);
    for (const old of [here, there]) expect((await me(old, 1)).status).toBe(401);
    expect((await me(browserOf(changed), 1)).body['email']).toBe('carl@example.net');
    expect((await signIn('carl@example.net', carl.password)).status).toBe(401);
    expect((await signIn('carl@example.net', 'second password')).status).toBe(200);
  });

  test('guesses at one account end at every gateway, with the time to wait; others go on', async () => {
    const guesses = await Promise.all(
      [0, 1, 0, 1, 0].map((gateway) => signIn('dora@example.org', 'guess', { gateway })),
    );
    expect(guesses.map(({ status }) => status).sort((one, other) => one - other)).toEqual([401, 401, 401, 429, 429]);
    const refused = await signIn('dora@example.org', 'guess');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(800);
    expect((await ann())['cookie']).toContain('access_token');
  });

  test('an open stream breaks off when its session is over, and the run goes on', async () => {
    const app = gateways[0]?.app;
    await app?.listen(0, '127.0.0.1');
    const { port } = app?.getHttpServer().address() as AddressInfo;
    const [browser, other] = [await ann(), await ann()];
    const run = { assistant_id: 'lead_agent', input: { messages: [{ type: 'human', content: 'hello' }] } };
    const started = await ask('POST', 'threads/streamed/runs', {
      headers: browser,
      payload: { ...run, if_not_exists: 'create' },
    });
    const path = `threads/streamed/runs/${String(started.body['run_id'])}`;
    const streamOf = async (headers: Record<string, string>) =>
      (await fetch(`http://127.0.0.1:${port}/api/${path}/stream`, { headers })).body?.getReader();
    const [mine, stays] = [await streamOf(browser), await streamOf(other)];
    await mine?.read();
    await ask('POST', 'v1/auth/logout', { headers: browser, gateway: 1 });

    const readAll = async () => {
      while ((await mine?.read())?.done === false);
    };
    await expect(readAll()).rejects.toThrow('terminated');
    expect((await stays?.read())?.done).toBe(false);
    expect((await ask('GET', path, { headers: other })).body['status']).toBe('pending');
    await stays?.cancel();
  });

  test('a program with a key needs no token, and has no password', async () => {
    const headers = { 'x-api-key': 'robot-key-1' };
    expect((await ask('POST', 'threads/search', { headers, payload: {} })).status).toBe(200);
    expect((await me(headers)).body).toMatchObject({
      id: 'robot',
      email: 'robot@caribou.invalid',
      system_role: 'user',
    });
    const change = { current_password: 'x', new_password: '12345678' };
    expect(codeOf(await ask('POST', 'v1/auth/change-password', { headers, payload: change }))).toEqual([
      400,
      'invalid_credentials',
    ]);
    expect(
      (await ask('POST', 'threads/search', { headers: { ...(await ann()), 'x-api-key': 'robot-key-2' }, payload: {} }))
        .status,
    ).toBe(401);
  });

  test('without a session every route but the public ones answers 401, and so does an unknown path', async () => {
    const open =
      /^\/(health|ready|docs|docs\/x|openapi\.json)?$|^\/api\/(ok|info|v1\/auth\/(setup-status|providers|initialize|login\/local|register|logout))$/;
    const paths = httpRoutes.map(({ method, path, root }) => ({
      method,
      url: `${root ? '' : '/api'}${path.replaceAll(/:\w+/g, 'x')}`,
    }));
    for (const { method, url } of [
      ...paths,
      { method: 'GET' as const, url: '/api/nothing' },
      { method: 'GET' as const, url: '/API/threads/x' },
    ]) {
      const answer = await gateways[0]?.app.inject({ method, url });
      expect({ url, refused: answer?.statusCode === 401 }).toEqual({ url, refused: !open.test(url) });
      if (answer?.statusCode === 401)
        expect(answer.json<Asked['body']>().detail).toMatchObject({ code: 'not_authenticated' });
    }
  });

  test('a store that is away is no reason to send people to the sign-in page: 503', async () => {
    const [browser, leaving] = [await ann(), await ann()];
    fixture.redis.pause();
    try {
      const answers = await Promise.all([
        me(browser),
        signIn(ANN.email, ANN.password),
        ask('GET', 'v1/auth/setup-status'),
        ask('POST', 'v1/auth/logout', { headers: leaving }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
      expect(answers[3]?.setCookies).toEqual([]);
    } finally {
      fixture.redis.resume();
    }
    expect((await me(browser)).status).toBe(200);
  });
});
