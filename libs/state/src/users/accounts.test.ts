import { newId } from '@caribou/contracts';
import type { AccountStore, NewSession, StoredAccount } from '../ports/account-store.js';
import { type StoreFixture, useStore, waitFor } from '@caribou/testing';
import { redisAccounts } from './accounts.js';

let store: StoreFixture;
let accounts: AccountStore;

useStore((opened) => {
  store = opened;
  accounts = redisAccounts(store.redis);
});

const ann: StoredAccount = { userId: 'default', email: 'ann@a.example', admin: true, password: 'p-ann' };
const bob: StoredAccount = { userId: 'b-1', email: 'bob@a.example', admin: false, password: 'p-bob' };
const create = (account: StoredAccount, first = false, maxAccounts = 10) =>
  accounts.create(account, { first, maxAccounts });
const session = (over: Partial<NewSession> = {}): NewSession => ({
  userId: ann.userId,
  digest: newId(),
  ttlMs: 60_000,
  remembered: false,
  ...over,
});
async function opened(over: Partial<NewSession> = {}): Promise<NewSession> {
  const one = session(over);
  expect(await accounts.openSession(one, one.userId === ann.userId ? ann.password : bob.password)).toBe(true);
  return one;
}
const holds = async (one: NewSession): Promise<boolean> => (await accounts.session(one)) !== null;

describe(redisAccounts, () => {
  test('of two concurrent set-ups one succeeds; no registration succeeds before', async () => {
    expect([await accounts.isInitialized(), await create(bob)]).toEqual([false, 'not_initialized']);
    const other = { ...ann, email: 'eve@a.example' };
    expect((await Promise.all([create(ann, true), create(other, true)])).sort()).toEqual(['created', 'initialized']);
    expect(await accounts.isInitialized()).toBe(true);
    expect(await create({ ...bob, userId: 'b-2' }, true)).toBe('initialized');
  });

  test('an e-mail belongs to one account, and the number of accounts has a bound', async () => {
    await create(ann, true);
    expect(await create(bob)).toBe('created');
    const before = await store.dump();
    expect(await create({ ...bob, userId: 'b-2' })).toBe('email_taken');
    expect(await create({ ...bob, userId: 'b-3', email: 'c@a.example' }, false, 2)).toBe('full');
    expect(await store.dump()).toEqual(before);
    expect([await accounts.byEmail(bob.email), await accounts.byId(ann.userId)]).toEqual([bob, ann]);
    expect([await accounts.byEmail('nobody@a.example'), await accounts.byId('nobody')]).toEqual([null, null]);
  });

  test('a session gives its account until it is closed, for its own account only', async () => {
    await create(ann, true);
    await create(bob);
    const [one, two] = [await opened(), await opened({ userId: bob.userId, remembered: true })];
    const { password: _, ...account } = bob;
    expect(await accounts.session(two)).toEqual({ account, remembered: true });
    expect(await holds({ ...one, userId: bob.userId })).toBe(false);
    await accounts.closeSession(one);
    expect([await holds(one), await holds(two)]).toEqual([false, true]);
  });

  test('a session ends by the clock of the store while another one continues', async () => {
    await create(ann, true);
    const [short, long] = [await opened({ ttlMs: 30 }), await opened()];
    await waitFor(async () => !(await holds(short)), { what: 'the end of the session' });
    expect(await holds(long)).toBe(true);
    await opened();
    const kept = await store.redis.use((client) => client.hlen(store.redis.keys.account(ann.userId).sessions));
    expect(kept).toBe(2);
  });

  test('open sessions are listed, the newest first, and ended by their digests, of their own account only', async () => {
    await create(ann, true);
    await create(bob);
    const first = await opened({ remembered: true });
    const short = await opened({ ttlMs: 30 });
    await waitFor(async () => !(await holds(short)), { what: 'the end of the session' });
    const second = await opened();
    const others = await opened({ userId: bob.userId });

    const listed = await accounts.sessions(ann.userId);
    expect(listed.map(({ digest, remembered }) => [digest, remembered])).toEqual([
      [second.digest, false],
      [first.digest, true],
    ]);
    expect(listed.map(({ openedAtMs, endsAtMs }) => endsAtMs - openedAtMs)).toEqual([60_000, 60_000]);
    expect(await accounts.closeSessions(ann.userId, [first.digest, others.digest])).toBe(1);
    expect(await accounts.closeSessions(ann.userId, [])).toBe(0);
    expect([await holds(first), await holds(second), await holds(others)]).toEqual([false, true, true]);
    expect(await accounts.sessions('nobody')).toEqual([]);
  });

  test('above the limit of sessions the oldest is removed', async () => {
    await create(ann, true);
    const all: NewSession[] = [];
    for (let count = 0; count < 52; count += 1) all.push(await opened({ ttlMs: 60_000 + count }));
    const held = await Promise.all(all.map(holds));
    expect(held.filter(Boolean)).toHaveLength(50);
    expect(held.lastIndexOf(false)).toBeLessThan(25);
  });

  test('a replaced password opens no session, and all earlier sessions have ended', async () => {
    await create(ann, true);
    const before = [await opened(), await opened()];
    const mine = session();
    const change = { userId: ann.userId, from: ann.password, to: 'p-2', email: 'ann@b.example', session: mine };
    expect(await accounts.changePassword(change)).toBe('changed');

    expect(await Promise.all([...before, mine].map(holds))).toEqual([false, false, true]);
    expect(await accounts.openSession(session(), ann.password)).toBe(false);
    expect(await accounts.byEmail(ann.email)).toBeNull();
    expect(await accounts.byEmail('ann@b.example')).toEqual({ ...ann, email: 'ann@b.example', password: 'p-2' });
    expect(await accounts.changePassword(change)).toBe('stale');
    expect(await create({ ...bob, email: ann.email })).toBe('created');
    expect(await accounts.openSession(session({ userId: 'nobody' }), '')).toBe(false);
  });

  test("a change to another account's e-mail changes nothing", async () => {
    await create(ann, true);
    await create(bob);
    const one = await opened();
    const before = await store.dump();
    const change = { userId: ann.userId, from: ann.password, to: 'p-2', email: bob.email, session: session() };
    expect(await accounts.changePassword(change)).toBe('email_taken');
    expect([await store.dump(), await holds(one)]).toEqual([before, true]);
  });

  test('an invalid user id reaches no key', async () => {
    await expect(accounts.session({ userId: 'a:b', digest: 'x' })).rejects.toThrow('an id must be');
  });
});
