import type { ItemReply } from '@caribou/contracts';
import { type Site, type SiteRoute, startSite } from '@caribou/testing';
import { useGateways } from '../testing/gateway-fixture.js';
import type { OpenGateway } from '../open-gateway.js';

/** Vectors of two dimensions: how much a text is about cats, and about dogs. */
const WORDS = [/cat|kitten|feline/g, /dog|puppy|canine/g];

let status = 200;
const embeddings: SiteRoute = ({ body }, response) => {
  const { input } = JSON.parse(body) as { input: string };
  const embedding = WORDS.map((word) => (input.match(word) ?? []).length);
  const answer = { data: [{ embedding, index: 0, object: 'embedding' }], usage: { prompt_tokens: 3, total_tokens: 3 } };
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(status === 200 ? answer : {}));
};

const fixture = useGateways();
let site: Site;
let gateway: OpenGateway;
let byOther: OpenGateway;

beforeAll(async () => {
  site = await startSite({ '/v1/embeddings': embeddings });
  const configOf = (model: string) =>
    `store:\n  embeddings: {model: ${model}, base_url: "http://127.0.0.1:${site.port}/v1", api_key: $EMBED_KEY}\n`;
  const env = { CARIBOU_API_KEYS: 'alice-key-1:alice', EMBED_KEY: 'secret-key' };
  gateway = await fixture.open({ config: configOf('one'), env });
  byOther = await fixture.open({ config: configOf('two'), env });
}, 30_000);
afterAll(() => site.stop());

async function send(method: 'PUT' | 'POST' | 'GET', url: string, payload: object | undefined, at = gateway) {
  const reply = await at.app.inject({
    method,
    url: `/api${url}`,
    headers: { 'x-api-key': 'alice-key-1' },
    ...(payload === undefined ? {} : { payload }),
  });
  return {
    status: reply.statusCode,
    body: reply.body === '' ? undefined : reply.json<{ items?: (ItemReply & { score: number })[]; detail?: string }>(),
  };
}

const put = (key: string, text: string, more: object = {}) =>
  send('PUT', '/store/items', { namespace: ['animals'], key, value: { text }, ...more });
const search = async (query: string, more: object = {}, at = gateway) =>
  (await send('POST', '/store/items/search', { namespace_prefix: ['animals'], query, ...more }, at)).body?.items ?? [];

describe('searches with an embedding model', () => {
  test('find items of similar meaning without a common word, the best first, within the filter', async () => {
    for (const [key, text] of [
      ['pets', 'a cat and a dog'],
      ['kittens', 'kitten kitten'],
      ['puppies', 'puppy'],
    ] as const)
      expect((await put(key, text)).status).toBe(204);
    await put('unindexed', 'cat cat', { index: false });

    const found = await search('feline');
    expect(found.map(({ key }) => key)).toEqual(['kittens', 'pets', 'puppies']);
    expect(found.map(({ score }) => score.toFixed(2))).toEqual(['1.00', '0.71', '0.00']);
    expect((await search('canine', { filter: { text: 'a cat and a dog' } })).map(({ key }) => key)).toEqual(['pets']);
    expect(site.seen.at(-1)?.headers['authorization']).toBe('Bearer secret-key');
    expect(JSON.parse(site.seen.at(-1)?.body ?? '')).toMatchObject({ model: 'one', encoding_format: 'float' });
  });

  test('a replaced item has the vector of its new text; those of another model are not compared', async () => {
    await put('changing', 'cat');
    await put('changing', 'dog dog');

    expect((await search('canine', { limit: 2 })).map(({ key }) => key)).toContain('changing');
    expect(await search('canine', {}, byOther)).toEqual([]);
  });

  test('an endpoint that fails refuses the write, and nothing is stored', async () => {
    status = 400;
    const refused = await put('lost', 'cat');
    const failed = await send('POST', '/store/items/search', { query: 'cat' });
    status = 200;

    expect([refused.status, refused.body?.detail]).toEqual([502, 'the embedding endpoint answered with status 400']);
    expect(failed.status).toBe(502);
    expect((await send('GET', '/store/items?namespace=animals&key=lost', undefined)).body).toBeNull();
    expect((await put('kept', 'cat', { index: false })).status).toBe(204);
  });
});
