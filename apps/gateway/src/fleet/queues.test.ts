import type { QueuesReply } from '@caribou/contracts';
import type { RedisConnection } from '@caribou/state';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const KEYS = 'alice-key-1:alice,bob-key-123:bob,root-key-12:root:admin';

describe('GET /admin/queues', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;
  let redis: RedisConnection;

  beforeAll(async () => {
    gateway = await fixture.open({
      config: 'runner: {max_running_per_user: 3}\nsubagents: {max_running: 40}\n',
      env: { CARIBOU_API_KEYS: KEYS },
    });
    redis = fixture.connectRedis();
  }, 60_000);

  const ask = async (key = 'root-key-12') => {
    const reply = await gateway.app.inject({ url: '/api/admin/queues', headers: { 'x-api-key': key } });
    return { status: reply.statusCode, body: reply.json<QueuesReply>() };
  };
  const startRun = async (key: string, threadId: string) => {
    const reply = await gateway.app.inject({
      ...{ method: 'POST', url: `/api/threads/${threadId}/runs`, headers: { 'x-api-key': key } },
      payload: {
        assistant_id: 'lead_agent',
        if_not_exists: 'create',
        input: { messages: [{ role: 'user', content: 'hi' }] },
      },
    });
    expect(reply.statusCode).toBe(200);
  };
  const queueOf = ({ queues }: QueuesReply, kind: string) => queues.find((queue) => queue.kind === kind);

  test('is empty while nothing waits', async () => {
    const { status, body } = await ask();

    expect(status).toBe(200);
    expect(body.queues.map(({ kind, length }) => [kind, length])).toEqual([
      ['runs', 0],
      ['tasks', 0],
      ['memory', 0],
      ['conversions', 0],
      ['crons', 0],
      ['webhooks', 0],
    ]);
    expect(body).toMatchObject({
      longest_waiting: [],
      running: { runs: 0, tasks: 0 },
      limits: { running_per_user: 3, tasks: 40, tasks_per_user: 32 },
    });
  });

  test('shows what waits, for whom, and the longest wait first', async () => {
    await startRun('alice-key-1', 'a1');
    await startRun('bob-key-123', 'b1');
    await startRun('alice-key-1', 'a2');
    await startRun('alice-key-1', 'a3');
    // A runner has claimed one of them.
    const { lease } = redis.keys.thread({ userId: 'alice', threadId: 'a3' });
    await redis.use((client) => client.set(lease, 'owner:1', 'PX', 60_000));

    const { body } = await ask();
    expect(queueOf(body, 'runs')).toEqual({
      kind: 'runs',
      length: 3,
      oldest_wait_ms: expect.any(Number),
      users: [
        { user_id: 'alice', waiting: 2 },
        { user_id: 'bob', waiting: 1 },
      ],
      is_counted_whole: true,
    });
    expect(body.running).toEqual({ runs: 1, tasks: 0 });
    expect(body.longest_waiting.map(({ kind, user_id, thread_id }) => [kind, user_id, thread_id])).toEqual([
      ['runs', 'alice', 'a1'],
      ['runs', 'bob', 'b1'],
      ['runs', 'alice', 'a2'],
    ]);
  });

  test('counts at most the thousand entries that wait longest, and says so', async () => {
    const members = Array.from({ length: 1_100 }, (_, index) => {
      return [index + 1, `${index < 1_050 ? 'alice' : 'bob'}/t${index}/lead_agent`];
    });
    await redis.use((client) => client.zadd(redis.keys.memoryQueue, ...members.flat()));

    expect(queueOf((await ask()).body, 'memory')).toMatchObject({
      length: 1_100,
      users: [{ user_id: 'alice', waiting: 1_000 }],
      is_counted_whole: false,
    });
    await redis.use((client) => client.del(redis.keys.memoryQueue));
  });

  test('is for administrators', async () => {
    expect((await ask('alice-key-1')).status).toBe(403);
  });
});
