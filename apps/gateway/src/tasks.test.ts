import { loadConfig } from '@caribou/config';
import { newId, type RunRecord, taskIds, type TaskSpec } from '@caribou/contracts';
import { applyUpdate, silentLogger } from '@caribou/core';
import { admission, ai, human, startNats, startRedis, type TestServer } from '@caribou/testing';
import {
  createRedis,
  type RedisConnection,
  redisRunStore,
  redisTaskStore,
  redisThreadStore,
  taskPart,
} from '@caribou/state';
import { type OpenGateway, openGateway } from './open-gateway.js';

const LIMITS = { maxPending: 100, maxPendingPerUser: 100, keptMs: 60_000 };

describe('tasks over REST', () => {
  let servers: TestServer[];
  let gateway: OpenGateway;
  let redis: RedisConnection;

  beforeAll(async () => {
    servers = await Promise.all([startNats(), startRedis()]);
    const [nats, store] = servers;
    const env = { NATS_URL: nats?.url, REDIS_URL: store?.url, OPENAI_API_KEY: 'unused', OPENAI_MODEL: 'm1' };
    const keys = 'alice-key-1:alice,bob-key-123:bob';
    gateway = await openGateway(loadConfig({ ...env, CARIBOU_API_KEYS: keys }, '/nowhere'), silentLogger);
    redis = createRedis({ url: store?.url ?? '' });
  }, 30_000);
  afterAll(async () => {
    await redis.close();
    for (const step of gateway.stop) await step.run();
    await Promise.all(servers.map((server) => server.stop()));
  }, 30_000);

  const ask = async (
    url: string,
    { key = 'alice-key-1', method = 'GET' }: { key?: string; method?: 'GET' | 'DELETE' } = {},
  ) => {
    const reply = await gateway.app.inject({ method, url: `/api${url}`, headers: { 'x-api-key': key } });
    return { status: reply.statusCode, body: reply.body === '' ? undefined : reply.json<unknown>() };
  };

  /** A finished run of alice's. */
  async function parentRun(threadId: string): Promise<RunRecord> {
    const { run } = await redisThreadStore(redis).admit(admission({ userId: 'alice', threadId }));
    const claimed = await redisRunStore(redis).claim({ userId: 'alice', threadId }, newId());
    if (claimed.kind !== 'run') throw new Error(claimed.kind);
    await redisRunStore(redis).finish(claimed.lease, { status: 'success', events: [] });
    return run;
  }

  const specOf = (parent: RunRecord, call: string): TaskSpec => ({
    parent: { thread_id: parent.thread_id, run_id: parent.run_id, tool_call_id: call },
    subagent_type: 'general-purpose',
    description: `work of ${call}`,
    tools: ['bash'],
    model: 'm1',
    args_hash: 'x',
  });

  async function handOver(parent: RunRecord, call: string): Promise<void> {
    const task = { userId: 'alice', spec: specOf(parent, call), prompt: human('do it'), maxTurns: 5, timeoutMs: 1_000 };
    await redisTaskStore(taskPart(redis), LIMITS).dispatch(task);
  }

  /** What a pool does with a task. */
  async function carryOut(parent: RunRecord, call: string): Promise<void> {
    const runs = redisRunStore(taskPart(redis), { eventsTtlMs: LIMITS.keptMs });
    const { threadId } = taskIds(parent.run_id, call);
    const claimed = await runs.claim({ userId: 'alice', threadId }, newId());
    if (claimed.kind !== 'run') throw new Error(claimed.kind);
    const state = applyUpdate(claimed.head.state, { messages: [human('do it'), ai('done it')] });
    const calls = [{ caller: 'lead_agent' as const, model: 'm1', inputTokens: 11, outputTokens: 1 }];
    const step = { head: claimed.head, state, next: [], source: 'loop' as const, step: 1, events: [] };
    await runs.finish(claimed.lease, {
      status: 'success',
      events: [],
      commit: { ...step, usage: { turns: 1, calls } },
    });
  }

  test('the tasks of a run, and the steps of one', async () => {
    const run = await parentRun(newId());
    const other = await parentRun(run.thread_id);
    await handOver(run, 'call_a');
    await carryOut(run, 'call_a');
    await handOver(run, 'call_b');
    await handOver(other, 'call_c');

    const path = `/threads/${run.thread_id}/runs/${run.run_id}/tasks`;
    const done = {
      task_id: 'call_a',
      run_id: run.run_id,
      subagent_type: 'general-purpose',
      description: 'work of call_a',
      model_name: 'm1',
      status: 'completed',
      stop_reason: null,
      error: null,
      attempt: 1,
      started_at: expect.any(String),
      ended_at: expect.any(String),
      llm_call_count: 1,
      usage: { input_tokens: 11, output_tokens: 1, total_tokens: 12 },
    };
    expect(await ask(path)).toMatchObject({
      status: 200,
      body: [done, { task_id: 'call_b', status: 'waiting', started_at: null, ended_at: null, usage: null }],
    });
    expect(await ask(`${path}/call_a`)).toMatchObject({
      status: 200,
      body: { ...done, result: 'done it', messages: [{ content: 'do it' }, { content: 'done it' }] },
    });
    expect(await ask(`${path}/call_b`)).toMatchObject({ status: 200, body: { result: null, messages: [] } });
  });

  test('what is not there, or is not yours, is a 404', async () => {
    const run = await parentRun(newId());
    await handOver(run, 'call_a');
    const path = `/threads/${run.thread_id}/runs/${run.run_id}/tasks`;

    const replies = await Promise.all([
      ask(`${path}/call_z`),
      ask(path, { key: 'bob-key-123' }),
      ask(`${path}/call_a`, { key: 'bob-key-123' }),
      ask(`/threads/${run.thread_id}/runs/${newId()}/tasks`),
      ask(`/threads/${newId()}/runs/${run.run_id}/tasks`),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
  });

  test('with its thread goes what is kept of its tasks', async () => {
    const run = await parentRun(newId());
    await handOver(run, 'call_a');
    await carryOut(run, 'call_a');
    const { threadId, runId } = taskIds(run.run_id, 'call_a');
    const left = () => redis.use((client) => client.keys(`*:tasks:*`));
    const mine = async () =>
      (await left()).filter((key) => [threadId, runId, run.thread_id].some((id) => key.includes(id)));
    expect((await mine()).length).toBeGreaterThan(3);

    expect(await ask(`/threads/${run.thread_id}`, { method: 'DELETE' })).toMatchObject({ status: 204 });

    expect(await mine()).toEqual([]);
  });
});
