import { emptyMemory, type MemoryDocument, newId } from '@caribou/contracts';
import { type RedisConnection, redisMemoryStore, redisRunStore, redisThreadStore } from '@caribou/state';
import { admission } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';
import { documentOf, memoryClient, type Method, useMemoryGateway } from '../testing/memory-client.js';

describe('memory over HTTP', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;
  let redis: RedisConnection;

  useMemoryGateway(fixture, ['alice', 'bob', 'dave', 'erin', 'frank'], (opened) => {
    gateway = opened;
    redis = fixture.connectRedis();
  });

  const of = memoryClient(() => gateway);
  /** A memory that holds nothing is as old as the answer: pages show its age. */
  const expectEmpty = (document: MemoryDocument): void => {
    expect(document).toEqual(emptyMemory(document.lastUpdated));
    expect(Date.now() - Date.parse(document.lastUpdated)).toBeLessThan(24 * 3_600_000);
  };
  const alice = of('alice');
  const bob = of('bob');

  test('a user without a memory has an empty one with all its parts', async () => {
    for (const path of ['', 'export', '/api/langgraph/memory', '?agent=poet'])
      expectEmpty(documentOf(await alice('GET', path.startsWith('?') ? `/api/memory${path}` : path)));
    expectEmpty(documentOf(await alice('POST', 'reload')));
    expect(documentOf(await alice('DELETE', '')).facts).toEqual([]);
  });

  test('a fact is added, changed and deleted, and each answer is the whole memory', async () => {
    const added = documentOf(await alice('POST', 'facts', { content: ' Likes tea. ', category: 'preference' }));
    const [fact] = added.facts;
    expect(fact).toMatchObject({ content: 'Likes tea.', category: 'preference', confidence: 0.9, source: 'manual' });

    const changed = documentOf(await alice('PATCH', `facts/${fact?.id}`, { content: 'Likes coffee.', confidence: 1 }));
    expect(changed.facts).toEqual([{ ...fact, content: 'Likes coffee.', confidence: 1 }]);
    expect(documentOf(await alice('GET', ''))).toEqual(changed);
    expect(Date.parse(changed.lastUpdated)).toBeGreaterThan(0);

    const list = await alice('GET', 'facts?category=preference&source=manual');
    expect(list.body).toEqual({ facts: changed.facts, count: 1 });
    expect((await alice('GET', 'facts?category=goal')).body).toEqual({ facts: [], count: 0 });

    expect(documentOf(await alice('DELETE', `facts/${fact?.id}`)).facts).toEqual([]);
    expect((await alice('DELETE', `facts/${fact?.id}`)).status).toBe(404);
    const { changes } = (await alice('GET', 'history')).body as { changes: { cause: object; removed: object[] }[] };
    expect(changes.slice(0, 3).map(({ cause }) => cause)).toEqual([
      { kind: 'fact_deleted', thread_id: null },
      { kind: 'fact_edited', thread_id: null },
      { kind: 'fact_added', thread_id: null },
    ]);
    expect(changes[0]?.removed).toEqual(changed.facts);
  });

  test("another user's memory can be neither read nor changed, and an agent's is its own", async () => {
    const { facts } = documentOf(await alice('POST', 'facts', { content: 'A secret.' }));
    const id = facts[0]?.id ?? '';
    await alice('POST', 'facts?agent=poet', { content: 'Rhymes.' });

    for (const [method, body] of [
      ['PATCH', { content: 'mine' }],
      ['DELETE', undefined],
    ] as const) {
      expect(await bob(method, `facts/${id}`, body)).toEqual({
        status: 404,
        body: { detail: 'there is no fact of this id' },
      });
      expect((await alice(method, `facts/${id}?agent=poet`, body)).status).toBe(404);
    }
    for (const path of ['', 'export', 'facts', 'history', 'status'])
      expect(JSON.stringify((await bob('GET', path)).body)).not.toMatch(/secret|Rhymes|alice|poet/);
    expect((await bob('GET', 'facts?agent=alice')).body).toEqual({ facts: [], count: 0 });
    await bob('DELETE', '');
    await bob('DELETE', 'all');
    expect(documentOf(await alice('GET', '')).facts.map(({ content }) => content)).toContain('A secret.');
    expect(documentOf(await alice('GET', '/api/memory?agent=poet')).facts).toHaveLength(1);
    expect((await gateway.app.inject({ url: '/api/memory' })).statusCode).toBe(401);
  });

  test('config and status tell how it is set up and what there is', async () => {
    const { body: config } = await alice('GET', 'config');
    expect(config).toEqual({
      enabled: true,
      storage_path: '',
      debounce_seconds: 30,
      model_name: null,
      max_facts: 100,
      fact_confidence_threshold: 0.7,
      injection_enabled: true,
      max_injection_tokens: 2_000,
    });
    await alice('POST', 'facts?agent=poet', { content: 'Sonnets.' });
    const { status, body } = await alice('GET', 'status?agent=poet');
    const { data, ...rest } = body as { data: MemoryDocument };
    expect(status).toBe(200);
    expect(data.facts.map(({ content }) => content)).toContain('Sonnets.');
    expect(rest).toMatchObject({
      config,
      agents: ['lead_agent', 'poet'],
      extraction: { due: 0, running: 0, given_up: [] },
      quarantined: [],
    });
  });

  test.each<[Method, string, object | undefined, RegExp]>([
    ['POST', 'facts', { content: 'x'.repeat(1_001) }, /^content: must have at most 1000 characters$/],
    ['POST', 'facts', { content: 'x'.repeat(1_000_000) }, /^content: must have at most 1000 characters$/],
    ['POST', 'facts', { content: ' \n' }, /^content: must not be empty$/],
    ['POST', 'facts', { content: { $ne: '' } }, /^content: .*expected string/],
    ['POST', 'facts', { content: 'a', category: 'mood' }, /^category: .*"preference"\|"knowledge"/],
    ['POST', 'facts', { content: 'a', confidence: 1.1 }, /^confidence: .*<=1/],
    ['POST', 'facts', { content: 'a', confidence: '0.9' }, /^confidence: .*expected number/],
    ['POST', 'facts', undefined, /^body: .*expected object/],
    ['PATCH', 'facts/f1', {}, /^body: must have at least one of content, category, confidence$/],
    ['GET', '?agent=a:b', undefined, /^agent: must be 1 to 64 letters/],
    ['GET', 'facts?category=mood', undefined, /^category: /],
    ['POST', 'import', { detail: 'x' }, /^body: must have at least one of user, history, facts$/],
    ['POST', 'import', { facts: [{ content: 'x'.repeat(1_001) }] }, /^facts\.0\.content: must have at most 1000/],
    ['POST', 'import', { user: { topOfMind: 'x'.repeat(4_001) } }, /^user\.topOfMind\.summary: must have at most 4000/],
  ])('%s %s is refused with the field and its limit', async (method, path, payload, detail) => {
    const url = path.startsWith('?') ? `/api/memory${path}` : path;
    const { status, body } = await bob(method, url, payload);

    expect(status).toBe(422);
    expect((body as { detail: string }).detail).toMatch(detail);
    expect(documentOf(await bob('GET', '')).facts).toEqual([]);
  });

  test('the number of agents with a memory is bounded', async () => {
    const frank = of('frank');
    const add = (agent: string) => frank('POST', `facts?agent=${agent}`, { content: 'x' });
    await Promise.all(Array.from({ length: 100 }, (_, at) => add(`a${at}`)));

    expect(await add('one-more')).toEqual({
      status: 409,
      body: { detail: 'agent: 100 agents have a memory of yours, the limit' },
    });
    expect((await frank('POST', 'facts?agent=a1', { content: 'y' })).status).toBe(200);
    expect((await frank('DELETE', 'all')).status).toBe(204);
    expect((await add('one-more')).status).toBe(200);
  });

  test('changes at the same time are all kept', async () => {
    const dave = of('dave');
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, at) => dave('POST', 'facts', { content: `Fact ${at}.` })),
    );

    expect(replies.map(({ status }) => status)).toEqual(Array(40).fill(200));
    const { facts } = documentOf(await dave('GET', ''));
    expect(new Set(facts.map(({ content }) => content)).size).toBe(40);
    await Promise.all(facts.slice(0, 20).map(({ id }) => dave('DELETE', `facts/${id}`)));
    expect(documentOf(await dave('GET', '')).facts).toHaveLength(20);
  });

  test('a damaged record is moved aside and told of, and the memory can be used again', async () => {
    const scope = { userId: 'dave', agent: 'lead_agent' };
    await redis.use((client) => client.hset(redis.keys.memory(scope).record, 'document', '{"facts": ['));
    const { body } = await of('dave')('GET', 'status');

    expect(body).toMatchObject({
      data: { facts: [] },
      quarantined: [{ agent: 'lead_agent', bytes: 11, at: expect.any(String) as string }],
    });
    expect(documentOf(await of('dave')('POST', 'facts', { content: 'New.' })).facts).toHaveLength(1);
  });

  /** A thread of a user whose last run said something to remember. */
  async function dueThread(userId: string, agent = 'lead_agent'): Promise<string> {
    const key = { userId, threadId: newId() };
    await redisThreadStore(redis).admit(admission(key));
    const runs = redisRunStore(redis);
    const claimed = await runs.claim(key, newId());
    if (claimed.kind !== 'run') throw new Error(claimed.kind);
    const { head } = claimed;
    const commit = { head, state: head.state, next: [], source: 'loop' as const, step: 1, events: [] };
    await runs.finish(claimed.lease, { status: 'success', events: [], commit, remember: { agent } });
    return key.threadId;
  }
  const dueOf = async (user: string): Promise<unknown> => {
    const { body } = await of(user)('GET', 'status');
    return (body as { extraction: { due: number } }).extraction.due;
  };

  test('a deleted thread has nothing more to be read', async () => {
    const [first] = [await dueThread('erin'), await dueThread('erin')];
    expect(await dueOf('erin')).toBe(2);

    expect((await of('erin')('DELETE', `/api/threads/${first}`)).status).toBe(204);
    expect(await dueOf('erin')).toBe(1);
  });

  test('an erasure leaves nothing of the user, whatever the agent, and nobody else is touched', async () => {
    const erin = of('erin');
    await dueThread('erin', 'poet');
    await erin('POST', 'facts', { content: 'Erin writes prose.' });
    await erin('POST', 'facts?agent=poet', { content: 'Erin writes verse.' });
    await redisMemoryStore(redis).read({ userId: 'erin', agent: 'lead_agent' });
    const facts = documentOf(await alice('GET', '')).facts.length;

    expect(await erin('DELETE', 'all')).toEqual({ status: 204, body: undefined });
    expect((await erin('GET', 'status')).body).toMatchObject({
      data: { facts: [] },
      agents: [],
      quarantined: [],
      extraction: { due: 0, running: 0, given_up: [] },
    });
    expect((await erin('GET', 'history?agent=poet')).body).toEqual({ changes: [] });
    const values = await redis.use((client) => client.keys('*memory*erin*'));
    for (const key of values) expect(await redis.use((client) => client.type(key))).not.toBe('list');
    expect(documentOf(await alice('GET', '')).facts).toHaveLength(facts);
    expect((await erin('DELETE', 'all')).status).toBe(204);
  });

  test('the OpenAPI document has the routes', async () => {
    const { paths } = (await gateway.app.inject('/openapi.json')).json<{ paths: object }>();

    expect(paths).toHaveProperty(['/api/memory/facts/{fact_id}', 'patch', 'responses', '404']);
    expect(paths).toHaveProperty(['/api/memory/import', 'post', 'requestBody']);
    expect(paths).toHaveProperty(['/api/memory/all', 'delete', 'responses', '204']);
  });
});
