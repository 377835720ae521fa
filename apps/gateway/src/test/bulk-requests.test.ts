import { ai } from '@caribou/testing';
import { useGateways } from '../testing/gateway-fixture.js';
import { said, type ThreadClient, useThreadClient } from '../testing/thread-client.js';
import type { OpenGateway } from '../open-gateway.js';

const KEYS = { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-1:bob' };
const RUN = '3d1c5a52-5d0e-4b8f-8a55-90a1d1f2a001';

const fixture = useGateways();
let alice: ThreadClient;
let other: OpenGateway;

useThreadClient(fixture, (client) => (alice = client), { env: KEYS, user: { userId: 'alice', key: 'alice-key-1' } });

beforeAll(async () => {
  other = await fixture.open({ env: KEYS });
}, 30_000);

async function send(url: string, payload: object, { key = 'alice-key-1', gateway = alice.gateway } = {}) {
  const reply = await gateway.app.inject({ method: 'POST', url: `/api${url}`, payload, headers: { 'x-api-key': key } });
  return { status: reply.statusCode, body: reply.body === '' ? undefined : reply.json<Record<string, unknown>>() };
}

const statusOf = async (threadId: string, runId: string): Promise<unknown> =>
  (await alice.ask<{ status?: string }>(`/${threadId}/runs/${runId}`)).body.status;

const queue = async (threadId: string): Promise<string> =>
  (await alice.start(threadId, { input: said('x'), multitask_strategy: 'enqueue' })).body.run_id;

describe('POST /runs/cancel', () => {
  test('runs are cancelled by ids, by thread and by status; what runs is asked to stop', async () => {
    const [one, two] = [await alice.newThread(), await alice.newThread()];
    const [first, second] = [await queue(one), await queue(one)];
    const third = await queue(two);
    const claimed = await alice.runner.claim({ userId: 'alice', threadId: one }, 'owner');

    expect(claimed.kind).toBe('run');
    expect(await send('/runs/cancel', { status: 'pending', thread_id: one })).toMatchObject({ status: 204 });
    expect([await statusOf(one, first), await statusOf(one, second), await statusOf(two, third)]).toEqual([
      'running',
      'interrupted',
      'pending',
    ]);
    expect(await send('/runs/cancel?action=rollback', { run_ids: [third] })).toMatchObject({ status: 204 });
    expect(await statusOf(two, third)).not.toBe('pending');
    expect(await send('/runs/cancel', { status: 'running' })).toMatchObject({ status: 204 });
    if (claimed.kind === 'run') {
      const { cancel } = await alice.runner.renew(claimed.lease);
      expect(cancel).toBe('interrupt');
      await alice.runner.finish(claimed.lease, { status: 'interrupted', events: [] });
    }
    expect(await send('/runs/cancel', { status: 'all' })).toMatchObject({ status: 204 });
  });

  test('an unknown run cancels none of the others; runs of other users do not exist', async () => {
    const threadId = await alice.newThread();
    const runId = await queue(threadId);

    expect(await send('/runs/cancel', { run_ids: [runId, RUN] })).toMatchObject({ status: 404 });
    expect(await send('/runs/cancel', { run_ids: [runId] }, { key: 'bob-key-1' })).toMatchObject({ status: 404 });
    expect(await send('/runs/cancel', { thread_id: threadId }, { key: 'bob-key-1' })).toMatchObject({ status: 404 });
    expect(await send('/runs/cancel', { thread_id: await alice.newThread(), run_ids: [runId] })).toMatchObject({
      status: 404,
    });
    expect(await send('/runs/cancel', { status: 'all' }, { key: 'bob-key-1' })).toMatchObject({ status: 204 });
    expect(await statusOf(threadId, runId)).toBe('pending');
  });

  test.each([
    [{}, 'must have thread_id, run_ids or status'],
    [{ status: 'success' }, 'status: '],
    [{ run_ids: ['../x'] }, 'run_ids.0: '],
    [{ run_ids: [RUN], reason: 'x' }, 'reason: is not supported'],
  ])('%j is a 422', async (body, detail) => {
    const { status, body: reply } = await send('/runs/cancel', body);
    expect([status, reply?.['detail']]).toEqual([422, expect.stringContaining(detail)]);
  });
});

describe('POST /threads/prune', () => {
  test('threads are deleted, but not those of others, unknown ones and those with a run in flight', async () => {
    const [gone, busy] = [await alice.newThread(), await alice.newThread()];
    await queue(busy);

    expect(await send('/threads/prune', { thread_ids: [gone, busy, RUN] }, { key: 'bob-key-1' })).toEqual({
      status: 200,
      body: { pruned_count: 0 },
    });
    expect(await send('/threads/prune', { thread_ids: [gone, gone, busy, RUN] })).toEqual({
      status: 200,
      body: { pruned_count: 1 },
    });
    expect([(await alice.ask(`/${gone}`)).status, (await alice.ask(`/${busy}`)).status]).toEqual([404, 200]);
  });

  test('keep_latest leaves the newest state and its messages, which the next run continues', async () => {
    const threadId = await alice.newThread();
    await alice.turn(threadId, 'one');
    await alice.turn(threadId, 'two');
    const before = (await alice.ask<{ checkpoint: object; values: object }>(`/${threadId}/state`)).body;

    expect(await send('/threads/prune', { thread_ids: [threadId], strategy: 'keep_latest' })).toMatchObject({
      body: { pruned_count: 1 },
    });
    const history = (await alice.ask<{ checkpoint: object; values: object }[]>(`/${threadId}/history`, { limit: 50 }))
      .body;
    expect(history).toMatchObject([{ checkpoint: before.checkpoint, values: before.values }]);
    expect((await alice.page(threadId)).data).toHaveLength(4);

    await alice.turn(threadId, 'three');
    expect(await alice.countMessages(threadId)).toBe(6);
  });

  test('of a run that starts and a thread that is pruned at once, one wins and the other is told', async () => {
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const threadId = await alice.newThread();
      const [started, pruned] = await Promise.all([
        alice.start(threadId, { input: said('x') }),
        send('/threads/prune', { thread_ids: [threadId] }, { gateway: other }),
      ]);
      const exists = (await alice.ask(`/${threadId}`)).status === 200;

      expect([started.status, pruned.body]).toEqual(exists ? [200, { pruned_count: 0 }] : [404, { pruned_count: 1 }]);
      if (exists) await alice.execute(threadId, { messages: [ai('done')] });
    }
  });

  test.each([
    [{}, 'thread_ids: '],
    [{ thread_ids: [] }, 'thread_ids: '],
    [{ thread_ids: [RUN], strategy: 'all' }, 'strategy: '],
  ])('%j is a 422', async (body, detail) => {
    const { status, body: reply } = await send('/threads/prune', body);
    expect([status, reply?.['detail']]).toEqual([422, expect.stringContaining(detail)]);
  });
});

describe('states', () => {
  test('selected fields come alone, for the head, a checkpoint and the history', async () => {
    const threadId = await alice.newThread();
    await alice.turn(threadId, 'one', undefined, { title: 'T' });
    const state = (await alice.ask<{ checkpoint: { checkpoint_id: string } }>(`/${threadId}/state`)).body;
    const expected = { values: { title: 'T' }, next: [] };

    expect((await alice.ask(`/${threadId}/state?select=values.title&select=next`)).body).toEqual(expected);
    expect((await alice.ask(`/${threadId}/state/${state.checkpoint.checkpoint_id}?select=interrupts`)).body).toEqual({
      interrupts: [],
    });
    const select = ['values.title', 'next'];
    const { checkpoint } = state;
    expect((await alice.ask(`/${threadId}/state/checkpoint`, { checkpoint, select })).body).toEqual(expected);
    expect((await alice.ask(`/${threadId}/history`, { limit: 1, select })).body).toEqual([expected]);
    expect(await alice.ask(`/${threadId}/state?select=nope`)).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('select.0: must be one of') },
    });
  });

  test('metadata is patched by the state too, and a minimal answer has no body', async () => {
    const threadId = await alice.newThread();
    const request = (url: string, headers: object) =>
      alice.gateway.app.inject({
        method: 'PATCH',
        url: `/api/threads/${threadId}${url}`,
        payload: { metadata: { [url]: 1 } },
        headers: { 'x-api-key': 'alice-key-1', ...headers },
      });

    expect((await request('/state', {})).statusCode).toBe(204);
    const minimal = await request('', { prefer: 'respond-async, return=minimal' });
    expect([minimal.statusCode, minimal.body]).toEqual([204, '']);
    expect((await alice.ask(`/${threadId}?include=ttl`)).body).toMatchObject({
      metadata: { '/state': 1, '': 1 },
      ttl: null,
    });
  });
});
