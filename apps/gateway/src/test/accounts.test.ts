import type { AddressInfo } from 'node:net';
import { type AccountPageReply, type AccountReply, DEFAULT_USER_ID, type IssuedKeyReply } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { useGateways } from '../testing/gateway-fixture.js';
import { ANN, browserOf, codeOf, type SignInClient, useSignIn } from '../testing/sign-in-client.js';

const BOB = { email: 'bob@example.org', password: 'hunter2hunter2' };

const fixture = useGateways();
let client: SignInClient;
let ann: Record<string, string>;
let bob: Record<string, string>;
let bobId: string;

useSignIn(fixture, (opened) => {
  client = opened;
  return client.setUp();
});

beforeAll(async () => {
  ann = await client.ann();
  const made = await client.ask('POST', 'v1/auth/register', { payload: BOB });
  bob = browserOf(made);
  bobId = String(made.body['id']);
});

const list = async () => (await client.ask('GET', 'admin/users', { headers: ann })).body as unknown as AccountPageReply;
const accountOf = async (userId: string) => (await list()).users.find(({ user_id }) => user_id === userId);
const setRole = (userId: string, role: string, headers = ann) =>
  client.ask('POST', `admin/users/${userId}/role`, { headers, payload: { role }, gateway: 1 });
const endSessions = (userId: string, headers = ann) =>
  client.ask('POST', `admin/users/${userId}/sessions/end`, { headers, payload: {}, gateway: 1 });
const mayAdministrate = async (headers: Record<string, string>, gateway = 0) =>
  (await client.ask('GET', 'admin/users', { headers, gateway })).status === 200;

describe('accounts for administrators', () => {
  test('are listed with role, creation, last sign-in and sessions, and without passwords', async () => {
    const { users, total } = await list();

    expect(total).toBe(2);
    expect(users.map(({ email, role }) => [email, role])).toEqual([
      [BOB.email, 'user'],
      ['ann@example.org', 'administrator'],
    ]);
    const time = expect.stringMatching(/^\d{4}-.*Z$/) as string;
    expect(await accountOf(bobId)).toEqual({
      ...{ user_id: bobId, email: BOB.email, role: 'user', sessions: 1 },
      ...{ created_at: time, last_sign_in_at: time },
    } satisfies AccountReply);
    expect((await client.ask('GET', 'admin/users?limit=1&offset=1', { headers: ann })).body).toMatchObject({
      total: 2,
      users: [{ user_id: DEFAULT_USER_ID }],
    });
    for (const query of ['limit=0', 'limit=201', 'offset=-1'])
      expect((await client.ask('GET', `admin/users?${query}`, { headers: ann })).status).toBe(422);
  });

  test('change their role at once, at every gateway; the last administrator remains one', async () => {
    expect([await mayAdministrate(bob), await mayAdministrate(ann)]).toEqual([false, true]);
    for (const change of [() => setRole(DEFAULT_USER_ID, 'user'), () => setRole(bobId, 'administrator', bob)])
      expect([409, 403]).toContain((await change()).status);
    expect((await setRole(DEFAULT_USER_ID, 'user')).body.detail).toContain('this is the last administrator');

    expect((await setRole(bobId, 'administrator')).body).toMatchObject({ user_id: bobId, role: 'administrator' });
    expect([await mayAdministrate(bob, 0), await mayAdministrate(bob, 1)]).toEqual([true, true]);
    expect((await client.me(bob)).body['system_role']).toBe('admin');
    expect((await setRole(DEFAULT_USER_ID, 'user')).status).toBe(200);
    expect([await mayAdministrate(ann), await mayAdministrate(bob)]).toEqual([false, true]);
    expect((await setRole(bobId, 'user', bob)).status).toBe(409);
    expect((await setRole(DEFAULT_USER_ID, 'administrator', bob)).status).toBe(200);
    expect((await setRole(bobId, 'user')).status).toBe(200);

    expect([(await setRole('nobody', 'user')).status, (await setRole(bobId, 'root')).status]).toEqual([404, 422]);
  });

  test('are signed out everywhere, with their open streams, and may sign in again', async () => {
    const app = client.gateways[0]?.app;
    await app?.listen(0, '127.0.0.1');
    const { port } = app?.getHttpServer().address() as AddressInfo;
    await client.ask('POST', 'threads', { headers: bob, payload: { thread_id: 'of-bob' } });
    const url = `http://127.0.0.1:${port}/api/threads/of-bob/stream`;
    const stream = (await fetch(url, { headers: bob })).body?.getReader();

    expect((await endSessions(bobId, bob)).status).toBe(403);
    expect((await endSessions(bobId)).body).toEqual({ ended: 1 });
    expect(codeOf(await client.me(bob))).toEqual([401, 'token_invalid']);
    await expect(
      (async () => {
        while ((await stream?.read())?.done === false);
      })(),
    ).rejects.toThrow('terminated');
    expect([await accountOf(bobId), await mayAdministrate(ann)]).toEqual([
      expect.objectContaining({ sessions: 0 }),
      true,
    ]);
    expect([(await endSessions(bobId)).body, (await endSessions('nobody')).status]).toEqual([{ ended: 0 }, 404]);
    bob = browserOf(await client.signIn(BOB.email, BOB.password));
    expect((await accountOf(bobId))?.sessions).toBe(1);
  });

  test('with a session as with a key: an administrator makes keys for others, which need no token', async () => {
    const made = await client.ask('POST', 'admin/keys', { headers: ann, payload: { name: 'of bob', user_id: bobId } });
    const { key, key_id } = made.body as unknown as IssuedKeyReply;
    expect((await client.me({ 'x-api-key': key }, 1)).body['id']).toBe(bobId);
    const search = { headers: { 'x-api-key': key }, payload: {} };
    expect((await client.ask('POST', 'threads/search', search)).status).toBe(200);
    const { cookie = '' } = ann;
    expect(codeOf(await client.ask('POST', 'admin/keys', { headers: { cookie }, payload: { name: 'x' } }))).toEqual([
      403,
      'csrf_token_invalid',
    ]);
    expect((await client.ask('DELETE', `admin/keys/${key_id}`, { headers: ann, gateway: 1 })).status).toBe(204);
    expect((await client.me({ 'x-api-key': key })).status).toBe(401);
  });

  test('go with their keys when they are erased', async () => {
    const made = await client.ask('POST', 'admin/keys', { headers: ann, payload: { name: 'of bob', user_id: bobId } });
    const { key } = made.body as unknown as IssuedKeyReply;
    expect((await client.ask('DELETE', `users/${bobId}`, { headers: ann })).status).toBe(204);

    expect([(await client.me({ 'x-api-key': key }, 1)).status, (await client.me(bob)).status]).toEqual([401, 401]);
    await waitFor(async () => (await list()).total === 1, { what: 'the end of the erasure' });
    expect((await client.signIn(ANN.email, ANN.password)).status).toBe(200);
  });

  test('each change is a line of the audit with the administrator, and one that changed nothing is none', async () => {
    const redis = fixture.connectRedis();
    const entries = await redis.use((db) => db.xrange(redis.keys.audit, '-', '+'));
    const lines = entries.map(([, fields]) => JSON.parse(fields[1] ?? '{}') as Record<string, string>);
    const shown = lines.map(({ operation, what, user_id, decided_by }) => [operation, what, user_id, decided_by]);

    expect(shown.filter(([operation]) => operation?.startsWith('account.'))).toEqual([
      ['account.set_role', 'role administrator', bobId, DEFAULT_USER_ID],
      ['account.set_role', 'role user', DEFAULT_USER_ID, DEFAULT_USER_ID],
      ['account.set_role', 'role administrator', DEFAULT_USER_ID, bobId],
      ['account.set_role', 'role user', bobId, DEFAULT_USER_ID],
      ['account.end_sessions', 'all sessions end', bobId, DEFAULT_USER_ID],
      ['account.end_sessions', 'all sessions end', bobId, DEFAULT_USER_ID],
    ]);
  });
});
