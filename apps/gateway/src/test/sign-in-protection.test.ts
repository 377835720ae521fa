import { DEFAULT_USER_ID, httpRoutes } from '@caribou/contracts';
import { parseCookie } from 'cookie';
import { useGateways } from '../testing/gateway-fixture.js';
import { ANN, browserOf, codeOf, type SignInClient, type SignInReply, useSignIn } from '../testing/sign-in-client.js';

let client: SignInClient;

useSignIn(useGateways(), (opened) => {
  client = opened;
  return client.setUp();
});

describe('protection of routes by sign-in', () => {
  test('a GET that ends a run with its connection needs the token or a page of this origin, as another site may open it', async () => {
    const { cookie = '', 'x-csrf-token': token = '' } = await client.ann();
    const unknown = '5d4c2c1a-0000-4000-8000-00000000000f';
    const url = (query: string) => `langgraph/threads/${unknown}/runs/${unknown}/join?${query}`;
    const asked = async (headers: Record<string, string>, query = 'cancel_on_disconnect=true') =>
      codeOf(await client.ask('GET', url(query), { headers: { cookie, ...headers } }))[0];
    for (const foreign of [{}, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }])
      expect(await asked(foreign)).toBe(403);
    for (const own of [{ 'x-csrf-token': token }, { 'sec-fetch-site': 'same-origin' }])
      expect(await asked(own)).toBe(404);
    expect(await asked({ 'sec-fetch-site': 'cross-site' }, '')).toBe(404);
  });

  test('a request that changes anything needs the token of this session and an allowed origin', async () => {
    const browser = await client.ann();
    const cookie = browser['cookie'] ?? '';
    const search = (headers: Record<string, string>, path = 'threads/search') =>
      client.ask('POST', path, { headers, payload: {} });
    const forged = `${cookie.replace(/csrf_token=[^;]*/, 'csrf_token=mine')}`;
    const foreign = (await client.ann())['x-csrf-token'] ?? '';
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
    expect((await client.me({ cookie })).status).toBe(200);
  });

  test('only the login accepts a form, and bodies without a session are small', async () => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const form = { headers: { ...(await client.ann()), ...type }, payload: 'email=a%40b.example&password=12345678' };
    for (const path of ['threads', 'v1/auth/register']) expect((await client.ask('POST', path, form)).status).toBe(415);
    const big = { payload: { ...ANN, x: 'y'.repeat(20_000) } };
    expect((await client.ask('POST', 'v1/auth/register', big)).status).toBe(413);
    expect((await client.signIn(ANN.email, 'y'.repeat(20_000))).status).toBe(413);
    for (const bad of [{ email: 'no-mail', password: '12345678' }, { email: 'a@b.example', password: 'short' }, {}])
      expect((await client.ask('POST', 'v1/auth/register', { payload: bad })).status).toBe(422);
  });

  test('each user has threads of their own, and administration is for the administrator', async () => {
    const bob = { email: 'bob@example.org', password: 'hunter2hunter2' };
    const made = await client.ask('POST', 'v1/auth/register', { payload: bob });
    expect([made.status, made.body]).toEqual([201, expect.objectContaining({ email: bob.email, system_role: 'user' })]);
    expect(codeOf(await client.ask('POST', 'v1/auth/register', { payload: bob }))).toEqual([
      409,
      'email_already_exists',
    ]);
    const [bobs, anns] = [browserOf(made), await client.ann(1)];
    const mine = await client.ask('POST', 'threads', { headers: anns, payload: {} });
    const path = `threads/${String(mine.body['thread_id'])}`;
    expect((await client.ask('GET', path, { headers: anns, gateway: 1 })).status).toBe(200);
    expect((await client.ask('GET', path, { headers: bobs })).status).toBe(404);
    expect([
      (await client.ask('GET', 'mcp/config', { headers: bobs })).status,
      (await client.ask('GET', 'mcp/config', { headers: anns })).status,
    ]).toEqual([403, 200]);
    const token = parseCookie(bobs['cookie'] ?? '')['access_token'] ?? '';
    expect((await client.me({ cookie: `access_token=${DEFAULT_USER_ID}.${token.slice(-43)}` })).status).toBe(401);
  });

  test('a program with a key needs no token, and has no password', async () => {
    const headers = { 'x-api-key': 'robot-key-1' };
    expect((await client.ask('POST', 'threads/search', { headers, payload: {} })).status).toBe(200);
    expect((await client.me(headers)).body).toMatchObject({
      id: 'robot',
      email: 'robot@caribou.invalid',
      system_role: 'user',
    });
    const change = { current_password: 'x', new_password: '12345678' };
    expect(codeOf(await client.ask('POST', 'v1/auth/change-password', { headers, payload: change }))).toEqual([
      400,
      'invalid_credentials',
    ]);
    expect(
      (
        await client.ask('POST', 'threads/search', {
          headers: { ...(await client.ann()), 'x-api-key': 'robot-key-2' },
          payload: {},
        })
      ).status,
    ).toBe(401);
  });

  test('without a session every route but the public ones answers 401, and so does an unknown path', async () => {
    const open =
      /^\/(health|ready|docs|docs\/x|openapi\.json|icon\.svg|assets\/x)?$|^\/api\/(ok|info|v1\/auth\/(setup-status|providers|initialize|login\/local|register|logout))$/;
    const paths = httpRoutes.map(({ method, path, root }) => ({
      method,
      url: `${root ? '' : '/api'}${path.replaceAll(/:\w+/g, 'x')}`,
    }));
    for (const { method, url } of [
      ...paths,
      { method: 'GET' as const, url: '/api/nothing' },
      { method: 'GET' as const, url: '/API/threads/x' },
    ]) {
      const answer = await client.gateways[0]?.app.inject({ method, url });
      expect({ url, refused: answer?.statusCode === 401 }).toEqual({ url, refused: !open.test(url) });
      if (answer?.statusCode === 401)
        expect(answer.json<SignInReply['body']>().detail).toMatchObject({ code: 'not_authenticated' });
    }
  });
});
