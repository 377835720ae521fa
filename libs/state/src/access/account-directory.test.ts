import { newId } from '@caribou/contracts';
import { type StoreFixture, useStore, waitFor } from '@caribou/testing';
import type { AccessLine, AccountDirectory, AccountStore, StoredAccount } from '../ports/account-store.js';
import { redisErasures } from '../erasure/erasures.js';
import { redisAccounts } from '../users/accounts.js';
import { redisAccountDirectory } from './account-directory.js';

let store: StoreFixture;
let accounts: AccountStore;
let directory: AccountDirectory;

useStore((opened) => {
  store = opened;
  accounts = redisAccounts(store.redis);
  directory = redisAccountDirectory(store.redis);
});

const ann: StoredAccount = { userId: 'default', email: 'ann@a.example', admin: true, password: 'p' };
const bob: StoredAccount = { userId: 'b-1', email: 'bob@a.example', admin: false, password: 'p' };
const eve: StoredAccount = { userId: 'e-1', email: 'eve@a.example', admin: false, password: 'p' };
const line = (userId: string, operation: AccessLine['operation'] = 'account.set_role'): AccessLine => ({
  ...{ id: newId(), operation, user_id: userId, what: 'administrator', verdict: 'ok' },
  ...{ decided_by: 'default', decided_from: '127.0.0.1' },
});
async function createAll(): Promise<void> {
  await accounts.create(ann, { first: true, maxAccounts: 10 });
  for (const one of [bob, eve]) await accounts.create(one, { first: false, maxAccounts: 10 });
}
const open = (userId: string, ttlMs = 60_000, digest = newId()) =>
  accounts.openSession({ userId, digest, ttlMs, remembered: false }, 'p');
const setRole = (userId: string, role: 'user' | 'administrator') => directory.setRole(userId, role, line(userId));
const auditLength = () => store.redis.use((client) => client.xlen(store.redis.keys.audit));
const roles = async () =>
  Object.fromEntries(
    (await directory.list({ offset: 0, limit: 100 })).accounts.map(({ userId, role }) => [userId, role]),
  );

describe(redisAccountDirectory, () => {
  test('accounts are listed by page, with open sessions and the last sign-in', async () => {
    await createAll();
    await open('b-1');
    await open('b-1');
    await open('b-1', 20);
    await waitFor(
      async () => (await directory.list({ offset: 0, limit: 9 })).accounts.some((one) => one.sessions === 2),
      {
        what: 'the end of the short session',
      },
    );
    const all = await directory.list({ offset: 0, limit: 9 });
    expect(all.total).toBe(3);
    expect(all.accounts.find(({ userId }) => userId === 'b-1')).toEqual({
      ...{ userId: 'b-1', email: 'bob@a.example', role: 'user', sessions: 2 },
      ...{ createdAt: expect.any(Number) as number, signedInAt: expect.any(Number) as number },
    });
    const pages = [];
    for (let offset = 0; offset < 3; offset += 1) pages.push(...(await directory.list({ offset, limit: 1 })).accounts);
    expect(pages).toEqual(all.accounts);
    expect(await directory.list({ offset: 3, limit: 9 })).toEqual({ total: 3, accounts: [] });
  });

  test('accounts of an earlier version are listed, and those that it erased are not', async () => {
    await createAll();
    const { accountOrder, administrators } = store.redis.keys;
    await store.redis.use((client) => client.del(accountOrder, administrators));
    await store.redis.use((client) => client.hdel(store.redis.keys.account('b-1').record, 'created'));
    expect(Object.keys(await roles()).sort()).toEqual(['b-1', 'default', 'e-1']);

    await store.redis.use((client) => client.hdel(store.redis.keys.accounts, eve.email));
    await store.redis.use((client) => client.del(store.redis.keys.account('e-1').record));
    expect(Object.keys(await roles()).sort()).toEqual(['b-1', 'default']);
    expect((await directory.list({ offset: 0, limit: 9 })).total).toBe(2);
  });

  test('a role holds for open sessions at once; a repeated change writes nothing', async () => {
    await createAll();
    await open('b-1', 60_000, 'digest');
    const session = { userId: 'b-1', digest: 'digest' };
    expect(await setRole('b-1', 'administrator')).toMatchObject({ userId: 'b-1', role: 'administrator', sessions: 1 });
    expect((await accounts.session(session))?.account.admin).toBe(true);
    const before = await store.dump();
    await setRole('b-1', 'administrator');
    expect([await store.dump(), await auditLength()]).toEqual([before, 1]);
    await setRole('b-1', 'user');
    expect((await accounts.session(session))?.account.admin).toBe(false);
    await expect(setRole('nobody', 'user')).rejects.toThrow('there is no account of "nobody"');
  });

  test('the last administrator remains one, also of an earlier version, also of two at once', async () => {
    await createAll();
    await expect(setRole('default', 'user')).rejects.toThrow('this is the last administrator');
    await store.redis.use((client) => client.del(store.redis.keys.administrators));
    await expect(setRole('default', 'user')).rejects.toThrow('this is the last administrator');
    await setRole('b-1', 'administrator');
    const both = await Promise.allSettled([setRole('default', 'user'), setRole('b-1', 'user')]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(Object.values(await roles()).filter((role) => role === 'administrator')).toHaveLength(1);
  });

  test('an administrator who is being erased counts no more, and gets no role', async () => {
    await createAll();
    await setRole('b-1', 'administrator');
    await redisErasures(store.redis).beginUser('b-1');
    await expect(setRole('default', 'user')).rejects.toThrow('this is the last administrator');
    await expect(setRole('b-1', 'user')).rejects.toThrow('this user is being erased');
    await redisErasures(store.redis).closeAccount('b-1');
    expect(await roles()).toEqual({ default: 'administrator', 'e-1': 'user' });
    expect(await store.redis.use((client) => client.smembers(store.redis.keys.administrators))).toEqual(['default']);
  });

  test('all sessions of an account end, and no others', async () => {
    await createAll();
    await open('b-1', 60_000, 'b');
    await open('b-1');
    await open('e-1', 60_000, 'e');
    const end = (userId: string) => directory.endSessions(userId, line(userId, 'account.end_sessions'));
    expect([await end('b-1'), await end('b-1')]).toEqual([2, 0]);
    expect(await accounts.session({ userId: 'b-1', digest: 'b' })).toBeNull();
    expect(await accounts.session({ userId: 'e-1', digest: 'e' })).not.toBeNull();
    await expect(end('nobody')).rejects.toThrow('there is no account of "nobody"');
    expect(await auditLength()).toBe(2);
  });
});
