import { newId } from '@caribou/contracts';
import { type StoreFixture, useStore, waitFor } from '@caribou/testing';
import type { AccessLine, ApiKeyStore, NewApiKey } from '../ports/account-store.js';
import { MAX_API_KEYS, redisApiKeys } from './api-keys.js';

let store: StoreFixture;
let keys: ApiKeyStore;
/** The store as another gateway uses it. */
let elsewhere: ApiKeyStore;

useStore((opened) => {
  store = opened;
  keys = redisApiKeys(store.redis);
  elsewhere = redisApiKeys(store.redis);
});

const digestOf = (text: string): string => Buffer.from(text.padEnd(32)).toString('hex');
const lineOf = (operation: AccessLine['operation'], keyId: string): AccessLine => ({
  ...{ id: newId(), operation, api_key_id: keyId, what: 'robot', verdict: 'ok' },
  ...{ decided_by: 'root', decided_from: '127.0.0.1' },
});
const draft = (over: Partial<NewApiKey> = {}): NewApiKey => {
  const keyId = newId();
  const digest = digestOf(keyId.slice(0, 32));
  return { keyId, digest, label: digest, name: 'robot', userId: 'alice', role: 'user', createdBy: 'root', ...over };
};
async function created(over: Partial<NewApiKey> = {}): Promise<NewApiKey> {
  const key = draft(over);
  await keys.create(key, lineOf('api_key.create', key.keyId));
  return key;
}
const revoke = (keyId: string) => keys.revoke(keyId, lineOf('api_key.revoke', keyId));
const rotate = (keyId: string, digest: string, overlapMs = 0) =>
  keys.rotate(keyId, { digest, overlapMs }, lineOf('api_key.rotate', keyId));
const listed = async (offset = 0, limit = 100) => (await keys.list({ offset, limit })).keys;
const audit = async () =>
  (await store.redis.use((client) => client.xrange(store.redis.keys.audit, '-', '+'))).map(
    ([, fields]) => JSON.parse(fields[1] ?? '{}') as Record<string, unknown>,
  );
const isFound = async (digest: string): Promise<boolean> => (await elsewhere.find(digest)) !== null;
const now = async (): Promise<number> => Number((await store.redis.use((client) => client.time()))[0]) * 1_000;

describe(redisApiKeys, () => {
  test('a key is found by the digest of its secret, by every gateway, until it is revoked', async () => {
    const key = await created({ role: 'administrator' });
    expect(await elsewhere.find(key.digest)).toEqual({
      ...{ keyId: key.keyId, userId: 'alice', role: 'administrator', label: key.label },
      isUseUnmarked: true,
    });
    expect(await isFound(digestOf('another'))).toBe(false);

    await revoke(key.keyId);
    expect(await isFound(key.digest)).toBe(false);
    expect(await listed()).toEqual([
      expect.objectContaining({ keyId: key.keyId, status: 'revoked', revokedAt: expect.any(Number) as number }),
    ]);
    await revoke(key.keyId);
    await expect(revoke('nothing')).rejects.toThrow('there is no API key "nothing"');
    expect((await audit()).map(({ operation, decided_by }) => [operation, decided_by])).toEqual([
      ['api_key.create', 'root'],
      ['api_key.revoke', 'root'],
    ]);
  });

  test('a change is a line of the audit with the key id, and no list has a digest of a secret', async () => {
    const key = await created();
    const [line] = await audit();
    expect(line).toEqual({
      ...{ at: expect.stringMatching(/^\d{4}-.*Z$/) as string, id: expect.any(String) as string },
      ...{ operation: 'api_key.create', api_key_id: key.keyId, what: 'robot', verdict: 'ok' },
      ...{ decided_by: 'root', decided_from: '127.0.0.1' },
    });
    expect(JSON.stringify(await listed())).not.toContain('digest');
  });

  test('a key ends at its time by the clock of the store, and cannot begin after it', async () => {
    const before = await store.dump();
    await expect(created({ expiresAt: (await now()) - 1_000 })).rejects.toThrow('expires_at: must be in the future');
    expect(await store.dump()).toEqual(before);
    const key = await created({ expiresAt: (await now()) + 1_500 });
    expect(await isFound(key.digest)).toBe(true);
    await waitFor(async () => !(await isFound(key.digest)), { what: 'the end of the key' });
    expect((await listed())[0]?.status).toBe('expired');
    await expect(rotate(key.keyId, digestOf('new'))).rejects.toThrow('was revoked or has expired');
  });

  test('a rotation ends the old secret at once, or after its overlap, and the secret before it in any case', async () => {
    const key = await created();
    const [second, third, fourth] = ['second', 'third', 'fourth'].map(digestOf) as [string, string, string];
    expect(await rotate(key.keyId, second)).toMatchObject({ label: key.label, status: 'active' });
    expect([await isFound(key.digest), await isFound(second)]).toEqual([false, true]);
    expect((await elsewhere.find(second))?.label).toBe(key.label);

    const rotated = await rotate(key.keyId, third, 60_000);
    expect(rotated.previousUntil).toBeGreaterThan(await now());
    expect([await isFound(second), await isFound(third)]).toEqual([true, true]);
    await rotate(key.keyId, fourth, 200);
    expect(await isFound(second)).toBe(false);
    await waitFor(async () => !(await isFound(third)), { what: 'the end of the overlap' });
    expect(await isFound(fourth)).toBe(true);
    expect((await listed())[0]?.previousUntil).toBeUndefined();

    await rotate(key.keyId, digestOf('fifth'), 60_000);
    await revoke(key.keyId);
    expect([await isFound(fourth), await isFound(digestOf('fifth'))]).toEqual([false, false]);
    await expect(rotate('nothing', second)).rejects.toThrow('there is no API key "nothing"');
  });

  test('the last use is entered once it is a minute old, and never for a key that is gone', async () => {
    const key = await created();
    await elsewhere.markUsed(key.keyId);
    expect((await keys.find(key.digest))?.isUseUnmarked).toBe(false);
    expect((await listed())[0]?.lastUsedAt).toBeGreaterThan((await now()) - 60_000);
    await store.redis.use((client) => client.hset(store.redis.keys.apiKeys.used, key.keyId, Date.now() - 61_000));
    expect((await keys.find(key.digest))?.isUseUnmarked).toBe(true);
    await elsewhere.markUsed('nothing');
    expect(await store.redis.use((client) => client.hlen(store.redis.keys.apiKeys.used))).toBe(1);
  });

  test('pages have the newest first', async () => {
    const { order } = store.redis.keys.apiKeys;
    for (const [at, name] of ['one', 'two', 'three'].entries()) {
      const { keyId } = await created({ name });
      await store.redis.use((client) => client.zadd(order, 'XX', at, keyId));
    }
    expect((await listed()).map(({ name }) => name)).toEqual(['three', 'two', 'one']);
    const { total, keys: page } = await keys.list({ offset: 1, limit: 1 });
    expect([total, page.map(({ name }) => name), await listed(3, 5), await listed(0, 0)]).toEqual([3, ['two'], [], []]);
  });

  test('the number of keys is bounded; those that have ended make room, the oldest first', async () => {
    const old = [await created(), await created()];
    await revoke(old[1]?.keyId ?? '');
    await fillUpTo(MAX_API_KEYS);
    await created({ name: 'after the revoked one' });
    expect((await keys.list({ offset: 0, limit: 0 })).total).toBe(MAX_API_KEYS);
    expect(await isFound(old[0]?.digest ?? '')).toBe(true);
    const before = await store.dump();
    await expect(created()).rejects.toThrow('there are 1000 API keys, which is the limit: revoke some');
    expect(await store.dump()).toEqual(before);
  });

  test('the keys of a user go with the user, who gets no other meanwhile', async () => {
    const [mine, other] = [await created(), await created({ userId: 'bob' })];
    await rotate(mine.keyId, digestOf('mine'), 60_000);
    await keys.markUsed(mine.keyId);
    const { erasing = '' } = store.redis.keys;
    await store.redis.use((client) => client.hset(erasing, 'alice', 'token'));
    await keys.eraseUser('alice');
    await expect(created()).rejects.toThrow('this user is being erased');

    expect([await isFound(mine.digest), await isFound(digestOf('mine')), await isFound(other.digest)]).toEqual([
      false,
      false,
      true,
    ]);
    const { digests, used } = store.redis.keys.apiKeys;
    const left = [digests, used].map((key) => store.redis.use((client) => client.hlen(key)));
    expect([(await listed()).map(({ userId }) => userId), await Promise.all(left)]).toEqual([['bob'], [1, 0]]);
    await keys.eraseUser('alice');
  });
});

async function fillUpTo(count: number): Promise<void> {
  const { records, order } = store.redis.keys.apiKeys;
  const present = (await keys.list({ offset: 0, limit: 0 })).total;
  const record = JSON.stringify({ ...draft(), createdAt: 1 });
  await store.redis.use(async (client) => {
    const line = client.pipeline();
    for (let at = present; at < count; at += 1) line.hset(records, `k${at}`, record).zadd(order, Date.now(), `k${at}`);
    return await line.exec();
  });
}
