import type { ItemReply } from '@caribou/contracts';
import type { RedisConnection } from '@caribou/state';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const CONFIG = 'quotas:\n  max_store_items_per_user: 40\n  max_store_bytes_per_user: 20000\n';

const fixture = useGateways();
let gateways: readonly OpenGateway[];
let redis: RedisConnection;
let user: string;
let users = 0;

beforeAll(async () => {
  const env = {
    CARIBOU_API_KEYS:
      Array.from({ length: 20 }, (_, at) => `user${at}-key-1:user${at}`).join(',') + ',root-key-1:root:admin',
  };
  gateways = [await fixture.open({ config: CONFIG, env }), await fixture.open({ config: CONFIG, env })];
  redis = fixture.connectRedis();
}, 30_000);

beforeEach(() => {
  user = `user${users}`;
  users += 1;
});

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
type Reply = { detail?: string; items?: (ItemReply & { score?: number })[]; namespaces?: string[][]; value?: object };

async function send(method: Method, url: string, payload?: object, { as = user, at = 0 } = {}) {
  const reply = await gateways[at]?.app.inject({
    method,
    url: `/api/store${url}`,
    headers: { 'x-api-key': `${as}-key-1` },
    ...(payload === undefined ? {} : { payload }),
  });
  const text = reply?.body ?? '';
  return {
    status: reply?.statusCode,
    headers: reply?.headers,
    body: (text === '' ? undefined : JSON.parse(text)) as Reply | null,
  };
}

const put = (namespace: string[], key: string, value: object, more: object = {}, options: { at?: number } = {}) =>
  send('PUT', '/items', { namespace, key, value, ...more }, options);
const get = (namespace: string, key: string, more = '') =>
  send('GET', `/items?namespace=${namespace}&key=${key}${more}`);
const keysFound = async (body: object) =>
  (await send('POST', '/items/search', body)).body?.items?.map(({ key }) => key);
const expire = async (key: string) => {
  const { expiries } = redis.keys.items(user);
  const members = await redis.use((client) => client.zrange(expiries, 0, -1));
  const member = members.find((one) => one.endsWith(key));
  if (member === undefined) throw new Error('it does not expire');
  const before = await redis.use((client) => client.zscore(expiries, member));
  await redis.use((client) => client.zadd(expiries, 1, member));
  return Number(before);
};

describe('/store/items', () => {
  test('an item is written, read, replaced and deleted; nobody else has it', async () => {
    expect((await put(['a', 'b'], 'k', { n: 1, list: [], none: {} })).status).toBe(204);
    const first = (await get('a.b', 'k')).body as ItemReply;
    expect(first).toMatchObject({ namespace: ['a', 'b'], key: 'k', value: { n: 1, list: [], none: {} } });
    await put(['a', 'b'], 'k', { n: 2 }, {}, { at: 1 });

    expect((await get('a.b', 'k')).body).toMatchObject({ value: { n: 2 }, created_at: first.created_at });
    const other = { as: 'root' };
    expect((await send('GET', '/items?namespace=a.b&key=k', undefined, other)).body).toBeNull();
    expect((await send('POST', '/items/search', {}, other)).body).toEqual({ items: [] });
    expect((await send('POST', '/namespaces', {}, other)).body).toEqual({ namespaces: [] });
    expect((await send('DELETE', '/items', { namespace: ['a', 'b'], key: 'k' }, other)).status).toBe(204);
    expect((await get('a.b', 'k')).body).toMatchObject({ value: { n: 2 } });
    for (let time = 0; time < 2; time += 1)
      expect((await send('DELETE', '/items', { namespace: ['a', 'b'], key: 'k' })).status).toBe(204);
    expect((await get('a.b', 'k')).body).toBeNull();
    expect(await redis.use((client) => client.exists(redis.keys.items(user).bytes))).toBe(0);
  });

  test('of many writes of one item by two gateways one is stored whole, and the bytes are those of one', async () => {
    await Promise.all(Array.from({ length: 20 }, (_, n) => put(['a'], 'k', { n, copy: n }, {}, { at: n % 2 })));

    const { value } = (await get('a', 'k')).body as ItemReply;
    expect(value['n']).toBe(value['copy']);
    const { items, bytes } = redis.keys.items(user);
    const [member] = await redis.use((client) => client.hkeys(items));
    const size = await redis.use((client) => client.hstrlen(items, member ?? ''));
    expect(Number(await redis.use((client) => client.get(bytes)))).toBe(size + Buffer.byteLength(member ?? ''));
  });

  test('a search finds below a namespace, by fields, the last written first, and pages', async () => {
    for (const [at, key] of ['one', 'two', 'three', 'four'].entries())
      await put(key === 'four' ? ['other'] : ['a', key], key, { n: at, tag: { x: at % 2 } });

    expect(await keysFound({ namespace_prefix: ['a'] })).toEqual(['three', 'two', 'one']);
    expect(await keysFound({ namespace_prefix: [], limit: 2, offset: 1 })).toEqual(['three', 'two']);
    expect(await keysFound({ namespace_prefix: ['a', 'o'] })).toEqual([]);
    expect(await keysFound({ filter: { tag: { x: 0 } } })).toEqual(['three', 'one']);
    expect(await keysFound({ filter: { n: { $gte: 1, $lt: 3 } } })).toEqual(['three', 'two']);
    expect(await keysFound({ filter: { n: { $ne: 2 } } })).toEqual(['four', 'two', 'one']);
    expect(await send('POST', '/items/search', { filter: { n: { $in: [1] } } })).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('filter.n: there is no operator "$in"') },
    });
  });

  test('a query ranks by the words of the indexed texts and leaves out what shares none', async () => {
    await put(['m'], 'cats', { text: 'Cats purr. Cats sleep all day.', note: 'dogs' }, { index: ['text'] });
    await put(['m'], 'dogs', { text: 'dogs bark', deep: [{ text: 'at cats' }] });
    await put(['m'], 'hidden', { text: 'cats and dogs' }, { index: false });
    await put(['m'], 'birds', { text: 'birds sing' });

    const found = (await send('POST', '/items/search', { namespace_prefix: ['m'], query: 'CATS?' })).body?.items ?? [];
    expect(found.map(({ key }) => key)).toEqual(['cats', 'dogs']);
    expect(Number(found[0]?.score)).toBeGreaterThan(Number(found[1]?.score));
    expect(await keysFound({ namespace_prefix: ['m'], query: 'dogs' })).toEqual(['dogs']);
    expect(await keysFound({ namespace_prefix: ['m'], query: 'cats', filter: { text: 'dogs bark' } })).toEqual([
      'dogs',
    ]);
  });

  test('an item is gone after its time, which reads begin again unless they say otherwise', async () => {
    await put(['a'], 'short', { n: 1 }, { ttl: 5 });
    await put(['a'], 'long', { n: 2 });
    const first = await expire('short');

    expect((await get('a', 'short')).body).toBeNull();
    expect([await keysFound({}), (await send('POST', '/namespaces', {})).body?.namespaces]).toEqual([
      ['long'],
      [['a']],
    ]);
    await put(['a'], 'short', { n: 3 }, { ttl: 5 });
    const { expiries } = redis.keys.items(user);
    const [member] = await redis.use((client) => client.zrange(expiries, 0, 0));
    await redis.use((client) => client.zadd(expiries, first - 60_000, member ?? ''));
    const score = async () => Number(await redis.use((client) => client.zscore(expiries, member ?? '')));
    await get('a', 'short', '&refresh_ttl=false');
    await send('POST', '/items/search', { refresh_ttl: false });
    expect(await score()).toBe(first - 60_000);
    await get('a', 'short');
    expect(await score()).toBeGreaterThanOrEqual(first);
    await put(['a'], 'short', { n: 3 });
    expect(await redis.use((client) => client.zcard(expiries))).toBe(0);
  });

  test('items and bytes of a user are bounded; what is full can be replaced, and a deletion frees', async () => {
    for (let n = 0; n < 40; n += 1) await put(['a'], `k${n}`, { n });
    const refused = await put(['a'], 'more', { n: 41 });

    expect([refused.status, refused.body?.detail, refused.headers?.['retry-after']]).toEqual([
      429,
      expect.stringContaining('max_store_items_per_user'),
      undefined,
    ]);
    expect((await put(['a'], 'k1', { n: 'new' })).status).toBe(204);
    expect(await put(['a'], 'k2', { text: 'x'.repeat(20_000) })).toMatchObject({
      status: 429,
      body: { detail: expect.stringContaining('max_store_bytes_per_user') },
    });
    expect((await get('a', 'k2')).body).toMatchObject({ value: { n: 2 } });
    await send('DELETE', '/items', { namespace: ['a'], key: 'k3' });
    expect((await put(['a'], 'more', { n: 41 })).status).toBe(204);
  });

  test.each<[object, string]>([
    [{ namespace: [], key: 'k', value: {} }, 'namespace: must have a label'],
    [{ namespace: ['a.b'], key: 'k', value: {} }, 'namespace.0: must not hold periods'],
    [{ namespace: ['a', ''], key: 'k', value: {} }, 'namespace.1: must not be empty'],
    [{ namespace: ['a\u001f'], key: 'k', value: {} }, 'namespace.0: must not hold control characters'],
    [{ namespace: ['a'], key: '\u001e', value: {} }, 'key: must not hold control characters'],
    [{ namespace: ['a'], key: 'k', value: 5 }, 'value: '],
    [{ namespace: ['a'], key: 'k', value: {}, ttl: -1 }, 'ttl: '],
    [{ namespace: ['a'], key: 'k', value: {}, index: true }, 'index: '],
    [{ namespace: ['a'], key: 'k', value: {}, webhook: 'x' }, 'webhook: is not supported'],
  ])('%j is a 422', async (body, detail) => {
    const reply = await send('PUT', '/items', body, { as: 'root' });
    expect([reply.status, reply.body?.detail]).toEqual([422, expect.stringContaining(detail)]);
  });

  test('erasing a user erases the items and assistants', async () => {
    await put(['a'], 'k', { n: 1 }, { ttl: 5 });
    const headers = { 'x-api-key': `${user}-key-1` };
    await gateways[0]?.app.inject({
      method: 'POST',
      url: '/api/assistants',
      headers,
      payload: { graph_id: 'lead_agent' },
    });
    const reply = await gateways[0]?.app.inject({
      method: 'DELETE',
      url: `/api/users/${user}`,
      headers: { 'x-api-key': 'root-key-1' },
    });

    expect(reply?.statusCode).toBe(204);
    const keys = [...Object.values<string>({ ...redis.keys.items(user) }), redis.keys.assistants(user).heads];
    expect(await redis.use((client) => client.exists(...keys))).toBe(0);
  });
});

describe('/store/namespaces', () => {
  test('namespaces are listed once, by prefix, suffix and depth, in order', async () => {
    for (const path of ['a.b.c', 'a.b.d', 'a.x', 'b', 'b.c']) {
      await put(path.split('.'), 'one', {});
      await put(path.split('.'), 'two', {});
    }
    const list = async (body: object) =>
      (await send('POST', '/namespaces', body)).body?.namespaces?.map((labels) => labels.join('.'));

    expect(await list({})).toEqual(['a.b.c', 'a.b.d', 'a.x', 'b', 'b.c']);
    expect(await list({ prefix: ['a'], max_depth: 2 })).toEqual(['a.b', 'a.x']);
    expect(await list({ suffix: ['c'] })).toEqual(['a.b.c', 'b.c']);
    expect(await list({ prefix: ['*', 'b'] })).toEqual(['a.b.c', 'a.b.d']);
    expect(await list({ limit: 2, offset: 1 })).toEqual(['a.b.d', 'a.x']);
    expect((await send('POST', '/namespaces', { max_depth: 0 })).status).toBe(422);
  });
});
