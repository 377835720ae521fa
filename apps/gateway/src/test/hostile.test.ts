import { manyKeys, type QuotaClient, runOf, useQuotaClient } from '../testing/quota-client.js';

const MB = 1024 * 1024;

let client: QuotaClient;

useQuotaClient((opened) => {
  client = opened;
});

describe('a hostile or careless client', () => {
  test.each<[string, object]>([
    ['metadata', { metadata: manyKeys(501) }],
    ['context', { context: manyKeys(501) }],
    ['config.configurable', { config: { configurable: { a: manyKeys(501) } } }],
    ['config.metadata', { config: { metadata: { list: [manyKeys(300), manyKeys(300)] } } }],
    [
      'input.messages.additional_kwargs',
      { input: { messages: [{ role: 'user', content: 'x', additional_kwargs: manyKeys(501) }] } },
    ],
  ])('%s of more than 500 keys is refused by its name, in a batch too', async (field, body) => {
    const detail = `${field}: holds more than 500 keys`;
    expect(await client.refusal('POST', '/runs', runOf(body))).toEqual([422, detail]);
    expect(await client.refusal('POST', '/runs/batch', [runOf({}), runOf(body)])).toEqual([422, detail]);
  });

  test('a field of free JSON is bounded in bytes, however its name is spelled', async () => {
    const long = 'x'.repeat(70_000);
    const detail = 'metadata: is larger than 65536 bytes';
    expect(await client.refusal('POST', '/threads', { metadata: { long } })).toEqual([413, detail]);
    expect(await client.refusal('POST', '/threads', `{"\\u006detadata":{"long":"${long}"}}`)).toEqual([413, detail]);
    const { statusCode } = await client.send('POST', `/threads/${await client.newThread()}/state`, {
      values: { messages: [{ role: 'user', content: [{ type: 'text', text: 'x', metadata: { long } }] }] },
    });
    expect(statusCode).toBe(200);
  });

  test('a body of a million keys, of values without names or of open brackets is refused before it is parsed', async () => {
    const metadata = `{"metadata":{${Array.from({ length: 1_000_000 }, (_, index) => `"k${index}":0`).join(',')}}}`;
    expect(await client.refusal('POST', '/threads', metadata)).toEqual([422, 'metadata: holds more than 500 keys']);
    const values = `{"values":{"todos":[${'0,'.repeat(60_000)}0]}}`;
    expect(await client.refusal('POST', `/threads/${await client.newThread()}/state`, values)).toEqual([
      422,
      'values.todos: the body holds more than 50000 values',
    ]);
    const [status, detail] = await client.refusal('POST', '/threads', '['.repeat(MB));
    expect([status, detail]).toEqual([422, 'body: the body is nested deeper than 100 levels']);
  });

  test('merged metadata is bounded as one request is, and a refusal changes nothing', async () => {
    const threadId = await client.newThread();
    const url = `/threads/${threadId}`;
    for (const name of ['a', 'b', 'c']) await client.send('PATCH', url, { metadata: { [name]: 'x'.repeat(20_000) } });
    const before = (await client.send('GET', url)).json<{ metadata: object }>();

    expect(await client.refusal('PATCH', url, { metadata: { d: 'x'.repeat(20_000) } })).toEqual([
      413,
      'metadata: the merged metadata would be larger than 65536 bytes',
    ]);
    expect((await client.send('GET', url)).json()).toEqual(before);
    expect(Object.keys(before.metadata)).toEqual(['a', 'b', 'c']);
  });

  test('a full state accepts no update and no run, and can still be read', async () => {
    const threadId = await client.newThread('bob');
    const content = 'x'.repeat(MB);
    expect((await client.addMessages(threadId, [{ type: 'human', content }], 'bob')).statusCode).toBe(200);
    const full = await client.addMessages(threadId, [{ type: 'human', content }], 'bob');
    expect([full.statusCode, full.body]).toEqual([413, expect.stringContaining('quotas.max_state_bytes')]);
    expect(
      (await client.send('POST', `/threads/${threadId}/runs`, runOf({ input: { messages: content } }), 'bob'))
        .statusCode,
    ).toBe(200);
    const next = { multitask_strategy: 'enqueue', input: { messages: content } };
    await client.send('POST', `/threads/${threadId}/runs`, runOf(next), 'bob');
    const refused = await client.send('POST', `/threads/${threadId}/runs`, runOf(next), 'bob');
    expect([refused.statusCode, refused.body]).toEqual([413, expect.stringContaining('2097152 bytes')]);
    expect((await client.send('GET', `/threads/${threadId}/state`, undefined, 'bob')).statusCode).toBe(200);
  });

  test('history and lists end a page before it gets large, and lose nothing', async () => {
    const threadId = await client.newThread('erin');
    const url = `/threads/${threadId}`;
    await client.addMessages(threadId, [{ type: 'human', content: 'x'.repeat(1_500_000) }], 'erin');
    for (let turn = 0; turn < 5; turn += 1)
      await client.send('POST', `${url}/state`, { values: { title: `title ${turn}` } }, 'erin');

    const titles: unknown[] = [];
    let before: string | undefined;
    let pages = 0;
    do {
      const page = await client.send('POST', `${url}/history`, { limit: 100, ...(before && { before }) }, 'erin');
      expect(page.statusCode).toBe(200);
      expect(page.body.length).toBeLessThan(5 * MB);
      titles.push(...page.json<{ values: { title?: string } }[]>().map(({ values }) => values.title));
      before = page.headers['x-pagination-next'] as string | undefined;
      pages += 1;
    } while (before !== undefined);
    expect(titles).toEqual(['title 4', 'title 3', 'title 2', 'title 1', 'title 0', undefined]);
    expect(pages).toBeGreaterThan(1);
  });

  test('the threads of a user are limited, however they are created, and those of other users are not affected', async () => {
    const [first = '', ...made] = await Promise.all(
      Array.from({ length: 40 }, () =>
        client
          .send('POST', '/threads', {}, 'carol')
          .then((answer) => (answer.statusCode === 200 ? answer.json<{ thread_id: string }>().thread_id : 'refused')),
      ),
    );
    expect([first, ...made].filter((id) => id === 'refused')).toHaveLength(10);
    const thread_id = '3d1c5a52-5d0e-4b8f-8a55-90a1d1f2a001';
    for (const [url, body] of [
      ['/threads', {}],
      ['/runs', runOf({ on_completion: 'keep', config: { configurable: { thread_id } } })],
      [`/threads/${first}/copy`, undefined],
    ] as const) {
      const answer = await client.send('POST', url, body, 'carol');
      expect([answer.statusCode, answer.body]).toEqual([429, expect.stringContaining('quotas.max_threads_per_user')]);
      expect(answer.headers['ratelimit-policy']).toContain('"threads";q=30;qu="threads"');
      expect(answer.headers['ratelimit']).toContain('"threads";r=0');
      expect(answer.headers['retry-after']).toBeUndefined();
    }
    const metrics = await client.gateway.app.inject({ url: '/metrics', headers: { 'x-api-key': 'root-key-1' } });
    expect(Number(/refused_requests_total\{reason="threads",.*\} (\d+)/.exec(metrics.body)?.[1])).toBeGreaterThan(12);
    expect((await client.send('POST', '/threads', { thread_id: first }, 'carol')).statusCode).toBe(200);
    expect((await client.send('DELETE', `/threads/${first}`, undefined, 'carol')).statusCode).toBe(204);
    expect((await client.send('POST', '/threads', {}, 'carol')).statusCode).toBe(200);
    expect((await client.send('POST', '/threads', {}, 'alice')).statusCode).toBe(200);
  });

  test('a small request that copies or reads much is charged by that size', async () => {
    const threadId = await client.newThread('dora');
    const content = 'x'.repeat(1_000_000);
    await client.addMessages(threadId, [{ type: 'human', content }], 'dora');
    const statuses: number[] = [];
    for (let copy = 0; copy < 200 && !statuses.includes(429); copy += 1) {
      const { thread_id } = (await client.send('POST', `/threads/${threadId}/copy`, undefined, 'dora')).json<{
        thread_id?: string;
      }>();
      statuses.push(thread_id === undefined ? 429 : 200);
      if (thread_id !== undefined) await client.send('DELETE', `/threads/${thread_id}`, undefined, 'dora');
      statuses.push(
        (await client.send('POST', `/threads/${threadId}/state`, { values: { title: 'x' } }, 'dora')).statusCode,
      );
    }
    expect(statuses).toContain(429);
  });

  test('runs on a thread with a large state are charged by its size', async () => {
    const threadId = await client.newThread('emil');
    await client.addMessages(threadId, [{ type: 'human', content: 'x'.repeat(900_000) }], 'emil');
    const body = { assistant_id: 'lead_agent', input: { messages: 'hi' }, multitask_strategy: 'enqueue' };
    const statuses: number[] = [];
    for (let run = 0; run < 20 && !statuses.includes(429); run += 1)
      statuses.push((await client.send('POST', `/threads/${threadId}/runs`, body, 'emil')).statusCode);
    expect(statuses).toContain(429);
  });

  test('a user who sends requests without pause is refused for a time, and another one is not', async () => {
    const answers: Awaited<ReturnType<QuotaClient['send']>>[] = [];
    for (let batch = 0; batch < 5 && answers.every(({ statusCode }) => statusCode === 200); batch += 1)
      answers.push(
        ...(await Promise.all(Array.from({ length: 800 }, () => client.send('GET', '/models', undefined, 'carol')))),
      );
    const refused = answers.find(({ statusCode }) => statusCode === 429);
    expect(refused?.headers['retry-after']).toBeDefined();
    expect(refused?.body).toContain('requests per second');
    expect((await client.send('GET', '/models', undefined, 'alice')).statusCode).toBe(200);
  });
});
