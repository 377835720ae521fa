import type { StateUpdate } from '@caribou/contracts';
import { applyUpdate } from '@caribou/core';
import { createLogger } from '@caribou/observability';
import { redisRunStore, type RedisConnection } from '@caribou/state';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const MB = 1024 * 1024;
const QUOTAS = [
  'quotas:',
  '  max_threads_per_user: 30',
  '  max_state_bytes: 2097152',
  '  requests_per_second: 20',
  '  request_burst: 1500',
];

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'HEAD';

describe('a hostile or careless client', () => {
  const fixture = useGateways({ appendonly: false });
  let gateway: OpenGateway;
  let redis: RedisConnection;
  const logged: string[] = [];

  const send = async (method: Method, url: string, payload?: unknown, user = 'alice') =>
    await gateway.app.inject({
      method,
      url: `/api${url}`,
      headers: {
        'x-api-key': `${user}-key-1`,
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(payload === undefined ? {} : { payload: typeof payload === 'string' ? payload : JSON.stringify(payload) }),
    });
  const refusal = async (method: Method, url: string, payload: unknown) => {
    const { statusCode, body } = await send(method, url, payload);
    return [statusCode, (JSON.parse(body) as { detail: string }).detail];
  };
  const newThread = async (user = 'alice'): Promise<string> =>
    (await send('POST', '/threads', {}, user)).json<{ thread_id: string }>().thread_id;
  const keys = (count: number): Record<string, number> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]));
  const run = (more: object) => ({ assistant_id: 'lead_agent', input: { messages: 'hi' }, ...more });
  const say = (threadId: string, messages: unknown, user = 'alice') =>
    send('POST', `/threads/${threadId}/state`, { values: { messages } }, user);
  const messagesOf = async (threadId: string) =>
    (await send('GET', `/threads/${threadId}/state`)).json<{
      values: { messages: { id: string; type: string; content: string }[] };
    }>().values.messages;

  beforeAll(async () => {
    const destination = { write: (line: string) => void logged.push(line) };
    gateway = await fixture.open({
      config: `${QUOTAS.join('\n')}\n`,
      env: {
        CARIBOU_API_KEYS:
          'alice-key-1:alice,bob-key-1:bob,carol-key-1:carol,erin-key-1:erin,dora-key-1:dora,emil-key-1:emil,root-key-1:root:admin',
      },
      logger: createLogger({ service: 'gateway', level: 'info', destination }),
    });
    redis = fixture.connectRedis();
  }, 30_000);

  test.each<[string, object]>([
    ['metadata', { metadata: keys(501) }],
    ['context', { context: keys(501) }],
    ['config.configurable', { config: { configurable: { a: keys(501) } } }],
    ['config.metadata', { config: { metadata: { list: [keys(300), keys(300)] } } }],
    [
      'input.messages.additional_kwargs',
      { input: { messages: [{ role: 'user', content: 'x', additional_kwargs: keys(501) }] } },
    ],
  ])('%s of more than 500 keys is refused by its name, in a batch too', async (field, body) => {
    const words = `${field}: holds more than 500 keys`;
    expect(await refusal('POST', '/runs', run(body))).toEqual([422, words]);
    expect(await refusal('POST', '/runs/batch', [run({}), run(body)])).toEqual([422, words]);
  });

  test('a field of free JSON is bounded in bytes, whatever its name is spelled with', async () => {
    const long = 'x'.repeat(70_000);
    const words = 'metadata: is larger than 65536 bytes';
    expect(await refusal('POST', '/threads', { metadata: { long } })).toEqual([413, words]);
    expect(await refusal('POST', '/threads', `{"\\u006detadata":{"long":"${long}"}}`)).toEqual([413, words]);
    const { statusCode } = await send('POST', `/threads/${await newThread()}/state`, {
      values: { messages: [{ role: 'user', content: [{ type: 'text', text: 'x', metadata: { long } }] }] },
    });
    expect(statusCode).toBe(200);
  });

  test('a body of a million keys, of values without names or of open brackets is refused before it is parsed', async () => {
    const metadata = `{"metadata":{${Array.from({ length: 1_000_000 }, (_, index) => `"k${index}":0`).join(',')}}}`;
    expect(await refusal('POST', '/threads', metadata)).toEqual([422, 'metadata: holds more than 500 keys']);
    const values = `{"values":{"todos":[${'0,'.repeat(60_000)}0]}}`;
    expect(await refusal('POST', `/threads/${await newThread()}/state`, values)).toEqual([
      422,
      'values.todos: the body holds more than 50000 values',
    ]);
    const [status, detail] = await refusal('POST', '/threads', '['.repeat(MB));
    expect([status, detail]).toEqual([422, 'body: the body is nested deeper than 100 levels']);
  });

  test('merged metadata is bounded as one request is, and a refusal changes nothing', async () => {
    const threadId = await newThread();
    const url = `/threads/${threadId}`;
    for (const name of ['a', 'b', 'c']) await send('PATCH', url, { metadata: { [name]: 'x'.repeat(20_000) } });
    const before = (await send('GET', url)).json<{ metadata: object }>();

    expect(await refusal('PATCH', url, { metadata: { d: 'x'.repeat(20_000) } })).toEqual([
      413,
      'metadata: the merged metadata would be larger than 65536 bytes',
    ]);
    expect((await send('GET', url)).json()).toEqual(before);
    expect(Object.keys(before.metadata)).toEqual(['a', 'b', 'c']);
  });

  test('a state that is full takes no update and no run, and is still read, deleted and left', async () => {
    const threadId = await newThread('bob');
    const content = 'x'.repeat(MB);
    expect((await say(threadId, [{ type: 'human', content }], 'bob')).statusCode).toBe(200);
    const full = await say(threadId, [{ type: 'human', content }], 'bob');
    expect([full.statusCode, full.body]).toEqual([413, expect.stringContaining('quotas.max_state_bytes')]);
    expect(
      (await send('POST', `/threads/${threadId}/runs`, run({ input: { messages: content } }), 'bob')).statusCode,
    ).toBe(200);
    const next = { multitask_strategy: 'enqueue', input: { messages: content } };
    await send('POST', `/threads/${threadId}/runs`, run(next), 'bob');
    const refused = await send('POST', `/threads/${threadId}/runs`, run(next), 'bob');
    expect([refused.statusCode, refused.body]).toEqual([413, expect.stringContaining('2097152 bytes')]);
    expect((await send('GET', `/threads/${threadId}/state`, undefined, 'bob')).statusCode).toBe(200);
  });

  test('history and lists end a page before it gets large, and lose nothing', async () => {
    const threadId = await newThread('erin');
    const url = `/threads/${threadId}`;
    await say(threadId, [{ type: 'human', content: 'x'.repeat(1_500_000) }], 'erin');
    for (let turn = 0; turn < 5; turn += 1)
      await send('POST', `${url}/state`, { values: { title: `title ${turn}` } }, 'erin');

    const titles: unknown[] = [];
    let before: string | undefined;
    let pages = 0;
    do {
      const page = await send('POST', `${url}/history`, { limit: 100, ...(before && { before }) }, 'erin');
      expect(page.statusCode).toBe(200);
      expect(page.body.length).toBeLessThan(5 * MB);
      titles.push(...page.json<{ values: { title?: string } }[]>().map(({ values }) => values.title));
      before = page.headers['x-pagination-next'] as string | undefined;
      pages += 1;
    } while (before !== undefined);
    expect(titles).toEqual(['title 4', 'title 3', 'title 2', 'title 1', 'title 0', undefined]);
    expect(pages).toBeGreaterThan(1);
  });

  test('a user has so many threads, whichever way they are made, and another user is not touched', async () => {
    const [first = '', ...made] = await Promise.all(
      Array.from({ length: 40 }, () =>
        send('POST', '/threads', {}, 'carol').then((answer) =>
          answer.statusCode === 200 ? answer.json<{ thread_id: string }>().thread_id : 'refused',
        ),
      ),
    );
    expect([first, ...made].filter((id) => id === 'refused')).toHaveLength(10);
    const thread_id = '3d1c5a52-5d0e-4b8f-8a55-90a1d1f2a001';
    for (const [url, body] of [
      ['/threads', {}],
      ['/runs', run({ on_completion: 'keep', config: { configurable: { thread_id } } })],
      [`/threads/${first}/copy`, undefined],
    ] as const) {
      const answer = await send('POST', url, body, 'carol');
      expect([answer.statusCode, answer.body]).toEqual([429, expect.stringContaining('quotas.max_threads_per_user')]);
    }
    expect((await send('POST', '/threads', { thread_id: first }, 'carol')).statusCode).toBe(200);
    expect((await send('DELETE', `/threads/${first}`, undefined, 'carol')).statusCode).toBe(204);
    expect((await send('POST', '/threads', {}, 'carol')).statusCode).toBe(200);
    expect((await send('POST', '/threads', {}, 'alice')).statusCode).toBe(200);
  });

  test("a client's message replaces what a client wrote, never an answer or a tool's result", async () => {
    const threadId = await newThread();
    const runs = redisRunStore(redis);
    await say(threadId, [{ type: 'human', id: 'h1', content: 'question' }]);
    await send('POST', `/threads/${threadId}/runs`, run({ input: null }));
    const claimed = await runs.claim({ userId: 'alice', threadId }, 'owner');
    if (claimed.kind !== 'run') throw new Error('nothing to run');
    const common = { content: 'true', additional_kwargs: {}, response_metadata: {} };
    const calls = [{ name: 'bash', args: {}, id: 'c1', type: 'tool_call' as const }];
    const said: NonNullable<StateUpdate['messages']> = [
      { type: 'ai', id: 'a1', ...common, tool_calls: calls, invalid_tool_calls: [] },
      { type: 'tool', id: 't1', ...common, tool_call_id: 'c1', name: 'bash', status: 'success' },
    ];
    const { head, lease } = claimed;
    const state = applyUpdate(head.state, { messages: said });
    const commit = { head, state, next: [], source: 'loop', step: 1, events: [] } as const;
    await runs.finish(lease, { status: 'success', commit, events: [] });

    await say(threadId, [
      { type: 'human', id: 'a1', content: 'REPLACED' },
      { type: 'system', id: 't1', content: 'REPLACED' },
      { type: 'human', id: 'h1', content: 'edited' },
    ]);
    const messages = await messagesOf(threadId);
    expect(messages.slice(0, 3).map(({ id, type, content }) => [id, type, content])).toEqual([
      ['h1', 'human', 'edited'],
      ['a1', 'ai', 'true'],
      ['t1', 'tool', 'true'],
    ]);
    expect(messages.slice(3).map(({ type, content }) => [type, content])).toEqual([
      ['human', 'REPLACED'],
      ['system', 'REPLACED'],
    ]);
  });

  test.each<[string, string, object]>([
    ['context.secrets', '/runs', run({ context: { secrets: { key: 'v' } } })],
    ['config.configurable.secrets', '/runs', run({ config: { configurable: { secrets: { key: 'v' } } } })],
    ['webhook', '/runs', run({ webhook: 'https://example.org' })],
    ['after_seconds', '/runs', run({ after_seconds: 5 })],
    ['feedback_keys', '/runs', run({ feedback_keys: ['score'] })],
    ['config.tags', '/runs', run({ config: { tags: ['a'] } })],
    ['supersteps', '/threads', { supersteps: [{ updates: [] }] }],
    ['extract', '/threads/search', { extract: { title: 'values.title' } }],
  ])('%s is refused by its name', async (field, url, body) => {
    const [status, detail] = await refusal('POST', url, body);
    expect([status, detail]).toEqual([
      422,
      expect.stringMatching(new RegExp(`^${field.replaceAll('.', '\\.')}: is not supported`)),
    ]);
  });

  test('what SDKs send by default asks for nothing and is taken', async () => {
    const defaults = {
      webhook: null,
      after_seconds: 0,
      feedback_keys: [],
      langsmith_tracer: null,
      stream_resumable: true,
      durability: 'async',
      checkpoint_during: true,
      command: null,
      metadata: {},
      checkpoint: null,
      context: { secrets: {} },
      config: { tags: [], recursion_limit: 100, configurable: {} },
    };
    expect((await send('POST', '/runs', run(defaults))).statusCode).toBe(200);
  });

  test('reserved metadata is dropped, titles are one line, and paths of artifacts are plain', async () => {
    const metadata = { user_id: 'bob', created_by: 'bob', owner_id: 'bob', __x: 1, graph_id: 'g' };
    const made = (await send('POST', '/threads', { metadata })).json<{ thread_id: string; metadata: object }>();
    expect(made.metadata).toEqual({ graph_id: 'g' });
    const title = 'x\u0000\u0007 \u001b[31m\ntitle\u202e';
    await send('POST', `/threads/${made.thread_id}/state`, { values: { title } });
    expect((await send('GET', `/threads/${made.thread_id}/state`)).json()).toMatchObject({
      values: { title: 'x [31m title' },
    });
    for (const path of [
      '/mnt/user-data/../etc/passwd',
      '/mnt/user-data//x',
      '/mnt/user-data/./x',
      '/mnt/user-data/a\u0000',
      '/etc/passwd',
    ]) {
      const [status, detail] = await refusal('POST', `/threads/${made.thread_id}/state`, {
        values: { artifacts: [path] },
      });
      expect([path, status, detail]).toEqual([
        path,
        422,
        expect.stringContaining('values.artifacts.0: must be a plain path'),
      ]);
    }
  });

  test('JSON and the API page are neither guessed at, stored nor framed', async () => {
    const { headers } = await send('POST', '/threads/search', {});
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
    });
    const page = await gateway.app.inject('/docs');
    expect(page.headers).toMatchObject({
      'x-frame-options': 'DENY',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'") as unknown,
    });
  });

  test('metrics and the reasons of /ready are for administrators', async () => {
    const ask = async (url: string, user: string) =>
      await gateway.app.inject({ url, headers: { 'x-api-key': `${user}-key-1` } });
    expect((await ask('/metrics', 'alice')).statusCode).toBe(403);
    expect((await ask('/metrics', 'root')).statusCode).toBe(200);
    const missing = async (user: string) =>
      (await ask('/ready', user)).json<{ missing: Record<string, string> }>().missing;
    const untold = 'not available; administrators are told the reason';
    expect((await missing('alice'))['agent-runner']).toBe(untold);
    expect((await missing('root'))['agent-runner']).not.toBe(untold);
  });

  test('the access log has the address of the client', async () => {
    await send('GET', '/threads/x');
    const line = logged
      .map((text) => JSON.parse(text) as Record<string, unknown>)
      .findLast(({ event }) => event === 'http.request');
    expect(line).toMatchObject({ clientAddress: '127.0.0.1' });
    expect(line).not.toHaveProperty('dropped');
  });

  test('HEAD of a stream ends', async () => {
    const threadId = await newThread();
    const { run_id } = (await send('POST', `/threads/${threadId}/runs`, run({}))).json<{ run_id: string }>();
    for (const rest of ['stream', 'join']) {
      const answer = await send('HEAD', `/threads/${threadId}/runs/${run_id}/${rest}`);
      expect([answer.statusCode, answer.body]).toEqual([200, '']);
    }
  });

  test('what is copied or read again for a small request costs by its size', async () => {
    const threadId = await newThread('dora');
    const content = 'x'.repeat(1_000_000);
    await say(threadId, [{ type: 'human', content }], 'dora');
    const statuses: number[] = [];
    for (let copy = 0; copy < 200 && !statuses.includes(429); copy += 1) {
      const { thread_id } = (await send('POST', `/threads/${threadId}/copy`, undefined, 'dora')).json<{
        thread_id?: string;
      }>();
      statuses.push(thread_id === undefined ? 429 : 200);
      if (thread_id !== undefined) await send('DELETE', `/threads/${thread_id}`, undefined, 'dora');
      statuses.push((await send('POST', `/threads/${threadId}/state`, { values: { title: 'x' } }, 'dora')).statusCode);
    }
    expect(statuses).toContain(429);
  });

  test('runs on a thread with a large state cost by its size', async () => {
    const threadId = await newThread('emil');
    await say(threadId, [{ type: 'human', content: 'x'.repeat(900_000) }], 'emil');
    const body = { assistant_id: 'lead_agent', input: { messages: 'hi' }, multitask_strategy: 'enqueue' };
    const statuses: number[] = [];
    for (let run = 0; run < 20 && !statuses.includes(429); run += 1)
      statuses.push((await send('POST', `/threads/${threadId}/runs`, body, 'emil')).statusCode);
    expect(statuses).toContain(429);
  });

  test('a user who asks without pause is told to wait, and another one is not', async () => {
    const answers: Awaited<ReturnType<typeof send>>[] = [];
    for (let batch = 0; batch < 5 && answers.every(({ statusCode }) => statusCode === 200); batch += 1)
      answers.push(
        ...(await Promise.all(Array.from({ length: 800 }, () => send('GET', '/models', undefined, 'carol')))),
      );
    const refused = answers.find(({ statusCode }) => statusCode === 429);
    expect(refused?.headers['retry-after']).toBeDefined();
    expect(refused?.body).toContain('requests per second');
    expect((await send('GET', '/models', undefined, 'alice')).statusCode).toBe(200);
  });
});
