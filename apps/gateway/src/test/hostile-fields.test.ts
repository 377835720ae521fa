import type { StateUpdate } from '@caribou/contracts';
import { applyUpdate } from '@caribou/core';
import { redisRunStore } from '@caribou/state';
import { type QuotaClient, runOf, useQuotaClient } from '../testing/quota-client.js';

let client: QuotaClient;

useQuotaClient((opened) => {
  client = opened;
});

describe('fields and headers of a hostile or careless client', () => {
  test("a client's message replaces what a client wrote, never an answer or a tool's result", async () => {
    const threadId = await client.newThread();
    const runs = redisRunStore(client.redis);
    await client.addMessages(threadId, [{ type: 'human', id: 'h1', content: 'question' }]);
    await client.send('POST', `/threads/${threadId}/runs`, runOf({ input: null }));
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

    await client.addMessages(threadId, [
      { type: 'human', id: 'a1', content: 'REPLACED' },
      { type: 'system', id: 't1', content: 'REPLACED' },
      { type: 'human', id: 'h1', content: 'edited' },
    ]);
    const messages = await client.messagesOf(threadId);
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
    ['context.secrets', '/runs', runOf({ context: { secrets: { key: 'v' } } })],
    ['config.configurable.secrets', '/runs', runOf({ config: { configurable: { secrets: { key: 'v' } } } })],
    ['feedback_keys', '/runs', runOf({ feedback_keys: ['score'] })],
    ['config.tags', '/runs', runOf({ config: { tags: ['a'] } })],
    ['supersteps', '/threads', { supersteps: [{ updates: [] }] }],
    ['extract', '/threads/search', { extract: { title: 'values.title' } }],
  ])('%s is refused by its name', async (field, url, body) => {
    const [status, detail] = await client.refusal('POST', url, body);
    expect([status, detail]).toEqual([
      422,
      expect.stringMatching(new RegExp(`^${field.replaceAll('.', '\\.')}: is not supported`)),
    ]);
  });

  test('what SDKs send by default requests nothing and is accepted', async () => {
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
    expect((await client.send('POST', '/runs', runOf(defaults))).statusCode).toBe(200);
  });

  test('reserved metadata is dropped, titles are one line, and paths of artifacts are plain', async () => {
    const metadata = { user_id: 'bob', created_by: 'bob', owner_id: 'bob', __x: 1, graph_id: 'g' };
    const made = (await client.send('POST', '/threads', { metadata })).json<{ thread_id: string; metadata: object }>();
    expect(made.metadata).toEqual({ graph_id: 'g' });
    const title = 'x\u0000\u0007 \u001b[31m\ntitle\u202e';
    await client.send('POST', `/threads/${made.thread_id}/state`, { values: { title } });
    expect((await client.send('GET', `/threads/${made.thread_id}/state`)).json()).toMatchObject({
      values: { title: 'x [31m title' },
    });
    for (const path of [
      '/mnt/user-data/../etc/passwd',
      '/mnt/user-data//x',
      '/mnt/user-data/./x',
      '/mnt/user-data/a\u0000',
      '/etc/passwd',
    ]) {
      const [status, detail] = await client.refusal('POST', `/threads/${made.thread_id}/state`, {
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
    const { headers } = await client.send('POST', '/threads/search', {});
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
    });
    const page = await client.gateway.app.inject('/docs');
    expect(page.headers).toMatchObject({
      'x-frame-options': 'DENY',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'") as unknown,
    });
  });

  test('metrics and the reasons of /ready are for administrators', async () => {
    const ask = async (url: string, user: string) =>
      await client.gateway.app.inject({ url, headers: { 'x-api-key': `${user}-key-1` } });
    expect((await ask('/metrics', 'alice')).statusCode).toBe(403);
    const metrics = await ask('/metrics', 'root');
    expect(metrics.statusCode).toBe(200);
    expect(metrics.body).toContain('caribou_open_streams{service="gateway"} 0');
    expect(metrics.body).toMatch(/caribou_pending_threads\{service="gateway"\} \d+/);
    for (const kind of ['runs', 'tasks', 'memory', 'conversions'])
      expect(metrics.body).toMatch(new RegExp(`caribou_queue_length\\{kind="${kind}",service="gateway"\\} \\d`));
    expect(metrics.body).toContain('caribou_slots_limit{kind="conversions",service="gateway"} 2');
    expect(metrics.body).toMatch(/caribou_cache_limit_bytes\{cache="values",service="gateway"\} \d/);
    expect(metrics.body).toMatch(
      /caribou_redis_script_duration_seconds_count\{.*script="threads\/create-thread"\} [1-9]/,
    );
    const missing = async (user: string) =>
      (await ask('/ready', user)).json<{ missing: Record<string, string> }>().missing;
    const withheld = 'not available; administrators are told the reason';
    expect((await missing('alice'))['agent-runner']).toBe(withheld);
    expect((await missing('root'))['agent-runner']).not.toBe(withheld);
  });

  test('the access log has the address of the client', async () => {
    await client.send('GET', '/threads/x');
    const line = client.logged
      .map((text) => JSON.parse(text) as Record<string, unknown>)
      .findLast(({ event }) => event === 'http.request');
    expect(line).toMatchObject({ clientAddress: '127.0.0.1' });
    expect(line).not.toHaveProperty('dropped');
  });

  test('HEAD of a stream ends', async () => {
    const threadId = await client.newThread();
    const { run_id } = (await client.send('POST', `/threads/${threadId}/runs`, runOf({}))).json<{ run_id: string }>();
    for (const rest of ['stream', 'join']) {
      const answer = await client.send('HEAD', `/threads/${threadId}/runs/${run_id}/${rest}`);
      expect([answer.statusCode, answer.body]).toEqual([200, '']);
    }
  });
});
