import { createHash } from 'node:crypto';
import { useGateways } from '../testing/gateway-fixture.js';
import { browserOf, type SignInClient, useSignIn } from '../testing/sign-in-client.js';

const fixture = useGateways();
let client: SignInClient;

useSignIn(fixture, (opened) => {
  client = opened;
  return opened.setUp();
});

interface Listed {
  readonly id: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly remembered: boolean;
  readonly current: boolean;
}

const PATH = 'v1/auth/sessions';
type Headers = Record<string, string>;

async function listed(headers: Headers, gateway = 0): Promise<readonly Listed[]> {
  const { status, body } = await client.ask('GET', PATH, { headers, gateway });
  expect(status).toBe(200);
  return body['sessions'] as Listed[];
}
const currentOf = async (headers: Headers): Promise<string> =>
  (await listed(headers)).find(({ current }) => current)?.id ?? '';
const end = (id: string, headers: Headers, gateway = 0) => client.ask('DELETE', `${PATH}/${id}`, { headers, gateway });

async function register(email: string): Promise<Headers> {
  const account = { email, password: 'a long password' };
  return browserOf(await client.ask('POST', 'v1/auth/register', { payload: account }));
}

describe('sessions', () => {
  test('one that is ended at one gateway is refused at the other; the rest continues', async () => {
    const [here, there] = [await client.ann(0), await client.ann(1)];
    const ended = await end(await currentOf(there), here, 0);

    expect([ended.status, ended.setCookies]).toEqual([204, []]);
    expect((await client.me(there, 1)).status).toBe(401);
    expect((await client.me(here, 1)).status).toBe(200);
    expect((await end(await currentOf(here), here, 1)).setCookies).toEqual([
      expect.stringMatching(/^access_token=;.*Max-Age=0/),
      expect.stringMatching(/^csrf_token=;.*Max-Age=0/),
    ]);
    expect((await client.me(here, 0)).status).toBe(401);
  });

  test('the list shows times and the own session, and nothing that opens or names a session in the store', async () => {
    const bob = await register('bob@example.org');
    const short = browserOf(await client.signIn('bob@example.org', 'a long password', { remember: 'false' }));
    const all = await listed(short, 1);

    expect(all.map(({ remembered, current }) => [remembered, current])).toEqual([
      [false, true],
      [true, false],
    ]);
    const lives = all.map((one) => Date.parse(one.expires_at) - Date.parse(one.created_at));
    expect(lives).toEqual([86_400_000, 2_592_000_000]);
    const secret = /access_token=[^.]+\.([\w-]{43})/.exec(bob['cookie'] ?? '')?.[1] ?? '';
    const stored = createHash('sha256').update(secret).digest('base64url');
    for (const text of [secret, stored]) expect(JSON.stringify(all)).not.toContain(text);
  });

  test('all others end at once, and the own one continues', async () => {
    await register('carla@example.org');
    const open = async (gateway: number) =>
      browserOf(await client.signIn('carla@example.org', 'a long password', { gateway }));
    const [here, there] = [await open(0), await open(1)];
    const { status, body } = await client.ask('DELETE', PATH, { headers: here });

    expect([status, body]).toEqual([200, { ended: 2 }]);
    expect((await client.me(there, 1)).status).toBe(401);
    expect((await listed(here, 1)).map(({ current }) => current)).toEqual([true]);
  });

  test('a session of another user is not there; a malformed id, a missing token and no session are refused', async () => {
    const [ann, eve] = [await client.ann(), await register('eve@example.org')];
    const id = await currentOf(ann);

    expect([(await end(id, eve)).status, (await client.me(ann)).status]).toEqual([404, 200]);
    const malformed = await end('short', ann);
    expect([malformed.status, JSON.stringify(malformed.body)]).toEqual([422, expect.stringContaining('session_id')]);
    expect((await end(id, { cookie: ann['cookie'] ?? '' })).status).toBe(403);
    expect((await client.ask('GET', PATH)).status).toBe(401);
    expect((await client.me(ann)).status).toBe(200);
  });

  test('a caller with an API key has no session of its own', async () => {
    const robot = { 'x-api-key': 'robot-key-1' };
    expect(await listed(robot)).toEqual([]);
    expect((await client.ask('DELETE', PATH, { headers: robot })).body).toEqual({ ended: 0 });
  });
});
