import type { AddressInfo } from 'node:net';
import { DEFAULT_USER_ID } from '@caribou/contracts';
import { useGateways } from '../testing/gateway-fixture.js';
import { ANN, browserOf, codeOf, type SignInClient, type SignInReply, useSignIn } from '../testing/sign-in-client.js';

const fixture = useGateways();
let client: SignInClient;

useSignIn(fixture, (opened) => {
  client = opened;
});

const byStatus = ([one]: unknown[], [other]: unknown[]): number => Number(one) - Number(other);

describe('sign-in', () => {
  test('the flow of the web client: set up by one of two at once, ask who I am, start a run, sign out everywhere', async () => {
    expect((await client.ask('GET', 'v1/auth/setup-status')).body).toEqual({
      needs_setup: true,
      registration_enabled: true,
    });
    expect((await client.ask('GET', 'v1/auth/providers')).body).toEqual({ providers: [] });
    expect(codeOf(await client.ask('POST', 'v1/auth/register', { payload: ANN }))).toEqual([
      409,
      'system_not_initialized',
    ]);
    const both = await Promise.all([client.setUp(0), client.setUp(1)]);
    expect(both.map(codeOf).sort(byStatus)).toEqual([
      [201, undefined],
      [409, 'system_already_initialized'],
    ]);
    expect(codeOf(await client.setUp(0))).toEqual([409, 'system_already_initialized']);
    expect((await client.ask('GET', 'v1/auth/setup-status', { gateway: 1 })).body['needs_setup']).toBe(false);

    const first = browserOf(both.find(({ status }) => status === 201) as SignInReply);
    expect((await client.me(first)).body['id']).toBe(DEFAULT_USER_ID);
    const browser = browserOf(await client.signIn(ANN.email, ANN.password));
    expect((await client.me(browser, 1)).body).toEqual({
      id: DEFAULT_USER_ID,
      email: 'ann@example.org',
      system_role: 'admin',
      needs_setup: false,
      oauth_provider: null,
    });
    const threadId = '5d4c2c1a-0000-4000-8000-000000000001';
    const page = { headers: browser, gateway: 1 };
    expect((await client.ask('POST', 'langgraph/threads', { ...page, payload: { thread_id: threadId } })).status).toBe(
      200,
    );
    const run = { assistant_id: 'lead_agent', input: { messages: [{ type: 'human', content: 'hello' }] } };
    expect((await client.ask('POST', `langgraph/threads/${threadId}/runs`, { ...page, payload: run })).status).toBe(
      200,
    );

    const out = await client.ask('POST', 'v1/auth/logout', {
      headers: { cookie: browser['cookie'] ?? '' },
      gateway: 1,
    });
    expect([out.status, ...out.setCookies]).toEqual([
      200,
      expect.stringMatching(/^access_token=;.*Max-Age=0/),
      expect.stringMatching(/^csrf_token=;.*Max-Age=0/),
    ]);
    for (const gateway of [0, 1]) expect(codeOf(await client.me(browser, gateway))).toEqual([401, 'token_invalid']);
    expect((await client.ask('POST', 'v1/auth/logout')).status).toBe(200);
  });

  test('a login sets the two cookies of the contract, and a wrong one reveals nothing', async () => {
    const good = await client.signIn('ann@EXAMPLE.org', ANN.password);
    expect(good.body).toEqual({ expires_in: 2_592_000, needs_setup: false });
    expect(good.setCookies).toEqual([
      expect.stringMatching(/^access_token=default\.[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/),
      expect.stringMatching(/^csrf_token=[\w-]{43}; Max-Age=2592000; Path=\/; SameSite=Strict$/),
    ]);
    const short = await client.signIn(ANN.email, ANN.password, { remember: 'false' });
    expect([short.body['expires_in'], short.setCookies.join()]).toEqual([
      86_400,
      expect.not.stringContaining('Max-Age'),
    ]);
    const [wrong, unknown] = [await client.signIn(ANN.email, 'wrong'), await client.signIn('eve@example.org', 'wrong')];
    expect(codeOf(wrong)).toEqual([401, 'invalid_credentials']);
    expect([unknown.status, unknown.body, unknown.setCookies]).toEqual([401, wrong.body, []]);
  });

  test('cookies are secure when a trusted proxy reports https, and no other client can do so', async () => {
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.9', host: 'gateway:2026' };
    const said = async (remoteAddress: string) =>
      (await client.signIn(ANN.email, ANN.password, { headers, remoteAddress })).setCookies;
    for (const line of await said('10.0.0.1')) expect(line).toContain('; Secure');
    for (const line of await said('10.0.0.2')) expect(line).not.toContain('Secure');
    const origin = { ...headers, 'x-forwarded-host': 'app.example.org', origin: 'https://app.example.org' };
    const through = (remoteAddress: string) =>
      client.signIn(ANN.email, ANN.password, { headers: origin, remoteAddress });
    expect([(await through('10.0.0.1')).status, (await through('10.0.0.2')).status]).toEqual([200, 403]);
  });

  test('a changed password ends all other sessions, at every gateway', async () => {
    const carl = { email: 'carl@example.org', password: 'first password' };
    const [here, there] = [
      browserOf(await client.ask('POST', 'v1/auth/register', { payload: carl })),
      browserOf(await client.signIn(carl.email, carl.password, { gateway: 1 })),
    ];
    const change = (current_password: string, new_email?: string) =>
      client.ask('POST', 'v1/auth/change-password', {
        headers: { cookie: here['cookie'] ?? '' },
        payload: {
          current_password,
          new_password: 'second password',
          ...(new_email === undefined ? {} : { new_email }),
        },
      });
    expect(codeOf(await change('wrong'))).toEqual([400, 'invalid_credentials']);
    expect(codeOf(await change(carl.password, ANN.email))).toEqual([409, 'email_already_exists']);
    expect((await client.me(there, 1)).status).toBe(200);
    const changed = await change(carl.password, 'carl@example.net');
    expect(changed.status).toBe(200);
    for (const old of [here, there]) expect((await client.me(old, 1)).status).toBe(401);
    expect((await client.me(browserOf(changed), 1)).body['email']).toBe('carl@example.net');
    expect((await client.signIn('carl@example.net', carl.password)).status).toBe(401);
    expect((await client.signIn('carl@example.net', 'second password')).status).toBe(200);
  });

  test('guesses at one account are refused at every gateway, with the time to wait; other accounts are not affected', async () => {
    const guesses = await Promise.all(
      [0, 1, 0, 1, 0].map((gateway) => client.signIn('dora@example.org', 'guess', { gateway })),
    );
    expect(guesses.map(({ status }) => status).sort((one, other) => one - other)).toEqual([401, 401, 401, 429, 429]);
    const refused = await client.signIn('dora@example.org', 'guess');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(800);
    expect((await client.ann())['cookie']).toContain('access_token');
  });

  test('an open stream breaks off when its session is over, and the run continues', async () => {
    const app = client.gateways[0]?.app;
    await app?.listen(0, '127.0.0.1');
    const { port } = app?.getHttpServer().address() as AddressInfo;
    const [browser, other] = [await client.ann(), await client.ann()];
    const run = { assistant_id: 'lead_agent', input: { messages: [{ type: 'human', content: 'hello' }] } };
    const started = await client.ask('POST', 'threads/streamed/runs', {
      headers: browser,
      payload: { ...run, if_not_exists: 'create' },
    });
    const path = `threads/streamed/runs/${String(started.body['run_id'])}`;
    const streamOf = async (headers: Record<string, string>) =>
      (await fetch(`http://127.0.0.1:${port}/api/${path}/stream`, { headers })).body?.getReader();
    const [mine, stays] = [await streamOf(browser), await streamOf(other)];
    await mine?.read();
    await client.ask('POST', 'v1/auth/logout', { headers: browser, gateway: 1 });

    const readAll = async () => {
      while ((await mine?.read())?.done === false);
    };
    await expect(readAll()).rejects.toThrow('terminated');
    expect((await stays?.read())?.done).toBe(false);
    expect((await client.ask('GET', path, { headers: other })).body['status']).toBe('pending');
    await stays?.cancel();
  });

  test('an unavailable store is a 503, which does not send users to the sign-in page', async () => {
    const [browser, leaving] = [await client.ann(), await client.ann()];
    fixture.redis.pause();
    try {
      const answers = await Promise.all([
        client.me(browser),
        client.signIn(ANN.email, ANN.password),
        client.ask('GET', 'v1/auth/setup-status'),
        client.ask('POST', 'v1/auth/logout', { headers: leaving }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
      expect(answers[3]?.setCookies).toEqual([]);
    } finally {
      fixture.redis.resume();
    }
    expect((await client.me(browser)).status).toBe(200);
  });
});
