import type { FeedbackReply, FeedPageReply } from '@caribou/contracts';
import { MAX_FEEDBACK } from '@caribou/state';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';
import { type ThreadClient, useThreadClient } from '../testing/thread-client.js';

const KEYS = { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-1:bob' };

const fixture = useGateways();
let alice: ThreadClient;
let other: OpenGateway;

useThreadClient(fixture, (client) => (alice = client), { env: KEYS, user: { userId: 'alice', key: 'alice-key-1' } });

beforeAll(async () => {
  other = await fixture.open({ env: KEYS });
}, 30_000);

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

async function send<Body = FeedbackReply>(
  method: Method,
  url: string,
  payload?: object,
  { key = 'alice-key-1', gateway = alice.gateway } = {},
) {
  const headers = { 'x-api-key': key };
  const reply = await gateway.app.inject({
    method,
    url: `/api${url}`,
    headers,
    ...(payload === undefined ? {} : { payload }),
  });
  return { status: reply.statusCode, body: reply.json<Body & { detail?: string }>() };
}

async function answeredRun() {
  const threadId = await alice.newThread();
  const runId = await alice.turn(threadId, 'one');
  return { threadId, runId, path: `/threads/${threadId}/runs/${runId}/feedback` };
}

describe('feedback', () => {
  test('on a run is written once, replaced, shown with its last answer, counted and deleted', async () => {
    const { threadId, runId, path } = await answeredRun();
    const first = await send('PUT', path, { rating: 1 });
    const second = await send('PUT', path, { rating: -1, comment: 'wrong' });

    expect(first).toMatchObject({
      status: 200,
      body: { run_id: runId, thread_id: threadId, user_id: 'alice', message_id: null, rating: 1, comment: null },
    });
    expect(second.body).toEqual({ ...first.body, rating: -1, comment: 'wrong' });
    expect((await send<FeedbackReply[]>('GET', path)).body).toEqual([second.body]);
    expect((await send<FeedbackReply[]>('GET', `/runs/${runId}/feedback`)).body).toEqual([second.body]);
    expect((await send<object>('GET', `${path}/stats`)).body).toEqual({
      run_id: runId,
      total: 1,
      positive: 0,
      negative: 1,
    });
    const { feedback_id } = first.body;
    const shown = [null, { feedback_id, rating: -1, comment: 'wrong' }];
    expect((await alice.page(threadId)).data.map(({ feedback }) => feedback)).toEqual(shown);
    expect(
      (await send<FeedPageReply>('GET', `/runs/${runId}/messages`)).body.data.map(({ feedback }) => feedback),
    ).toEqual(shown);

    expect((await send<object>('DELETE', path)).body).toEqual({ success: true });
    expect((await send('DELETE', path)).status).toBe(404);
    expect((await alice.page(threadId)).data.map(({ feedback }) => feedback)).toEqual([null, null]);
  });

  test('of two at once by two gateways one is left; further feedback on messages is added and deleted by its id', async () => {
    const { path } = await answeredRun();
    await Promise.all([send('PUT', path, { rating: 1 }), send('PUT', path, { rating: -1 }, { gateway: other })]);
    const added = await send('POST', path, { rating: 1, message_id: 'm1' });

    expect((await send<FeedbackReply[]>('GET', path)).body).toHaveLength(2);
    expect((await send<object>('DELETE', `${path}/${added.body.feedback_id}`)).body).toEqual({ success: true });
    expect((await send<FeedbackReply[]>('GET', path)).body).toMatchObject([{ message_id: null }]);
  });

  test("of others', of unknown runs and threads is a 404, and it goes with its thread", async () => {
    const { threadId, runId, path } = await answeredRun();
    const elsewhere = await alice.newThread();
    await send('PUT', path, { rating: 1 });
    const bob = { key: 'bob-key-1' };

    expect((await send('PUT', path, { rating: 1 }, bob)).status).toBe(404);
    expect((await send('GET', path, undefined, bob)).status).toBe(404);
    expect((await send('GET', `/runs/${runId}/feedback`, undefined, bob)).status).toBe(404);
    expect((await send('GET', `/runs/${runId}/messages`, undefined, bob)).status).toBe(404);
    expect((await send('PUT', `/threads/${elsewhere}/runs/${runId}/feedback`, { rating: 1 })).status).toBe(404);
    const redis = fixture.connectRedis();
    const key = redis.keys.feedback({ userId: 'alice', threadId });
    expect(await redis.use((client) => client.exists(key))).toBe(1);
    await alice.gateway.app.inject({
      method: 'DELETE',
      url: `/api/threads/${threadId}`,
      headers: { 'x-api-key': 'alice-key-1' },
    });
    expect(await redis.use((client) => client.exists(key))).toBe(0);
  });

  test('a thread holds a bounded number of them', async () => {
    const { threadId, path } = await answeredRun();
    const redis = fixture.connectRedis();
    const key = redis.keys.feedback({ userId: 'alice', threadId });
    await send('PUT', path, { rating: 1 });
    await redis.use((client) => client.hset(key, 'n', MAX_FEEDBACK));

    expect((await send('POST', path, { rating: 1 })).status).toBe(409);
    expect((await send('PUT', path, { rating: -1 })).status).toBe(200);
  });

  test.each([
    [{ rating: 0 }, 'rating: must be 1 or -1'],
    [{ rating: 1, comment: 5 }, 'comment: '],
    [{ rating: 1, score: 5 }, 'score: is not supported'],
  ])('%j is a 422', async (body, detail) => {
    const { path } = await answeredRun();
    const reply = await send('PUT', path, body);
    expect([reply.status, reply.body.detail]).toEqual([422, expect.stringContaining(detail)]);
  });
});
