import { type Message, newId, type RunRecord, type SubagentStep, taskIds, type TaskSpec } from '@caribou/contracts';
import { applyUpdate } from '@caribou/core';
import { admission, ai, human } from '@caribou/testing';
import { type RedisConnection, redisRunStore, redisTaskStore, redisThreadStore, taskPart } from '@caribou/state';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const LIMITS = { maxPending: 100, maxPendingPerUser: 100, keptMs: 60_000 };

describe('tasks over REST', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;
  let redis: RedisConnection;

  beforeAll(async () => {
    gateway = await fixture.open({ env: { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-123:bob' } });
    redis = fixture.connectRedis();
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
  async function carryOut(
    parent: RunRecord,
    call: string,
    messages: readonly Message[] = [human('do it'), ai('done it')],
  ): Promise<void> {
    const runs = redisRunStore(taskPart(redis), { eventsTtlMs: LIMITS.keptMs });
    const { threadId } = taskIds(parent.run_id, call);
    const claimed = await runs.claim({ userId: 'alice', threadId }, newId());
    if (claimed.kind !== 'run') throw new Error(claimed.kind);
    const state = applyUpdate(claimed.head.state, { messages });
    const calls = [{ caller: 'lead_agent' as const, model: 'm1', inputTokens: 11, outputTokens: 1 }];
    const step = { head: claimed.head, state, next: [], source: 'loop' as const, step: 1, events: [] };
    await runs.finish(claimed.lease, {
      status: 'success',
      events: [],
      commit: { ...step, usage: { turns: 1, calls } },
    });
  }

  test('the stored steps of a subagent are events of the run, in pages', async () => {
    const run = await parentRun(newId());
    await handOver(run, 'call_a');
    const calls = [{ id: 'c', name: 'bash', args: { command: 'x'.repeat(9_000) }, type: 'tool_call' as const }];
    const result = {
      type: 'tool' as const,
      id: newId(),
      tool_call_id: 'c',
      name: 'bash',
      status: 'success' as const,
      content: 'out '.repeat(3_000),
      additional_kwargs: {},
      response_metadata: {},
    };
    await carryOut(run, 'call_a', [human('do it'), { ...ai('Looking.'), tool_calls: calls }, result, ai('done it')]);
    await handOver(run, 'call_b');
    await carryOut(run, 'call_b');

    const path = `/threads/${run.thread_id}/runs/${run.run_id}/events`;
    const of = async (query: string) => (await ask(`${path}?${query}`)).body as SubagentStep[];
    const steps = await of('event_types=subagent.step&task_id=call_a&limit=2');
    expect(steps.map(({ seq, content }) => [seq, content.message_index, content.kind])).toEqual([
      [1, 1, 'ai'],
      [2, 2, 'tool'],
    ]);
    expect(steps[0]).toMatchObject({ event_type: 'subagent.step', metadata: { task_id: 'call_a' } });
    expect(steps[0]?.content).toMatchObject({ text: 'Looking.', tool_calls: [{ name: 'bash', args_truncated: true }] });
    expect(steps[1]?.content).toMatchObject({ tool_name: 'bash', tool_call_id: 'c', truncated: true });
    expect(steps[1]?.content.text).toHaveLength(8_192);
    const rest = await of('event_types=subagent.step&task_id=call_a&limit=2&after_seq=2');
    expect(rest).toMatchObject([{ seq: 3, content: { text: 'done it', truncated: false, tool_calls: [] } }]);
    const all = await of('event_types=subagent.start,subagent.step,subagent.end');
    expect(all.map(({ seq, content }) => [seq, content.task_id])).toEqual([
      ...[1, 2, 3].map((seq) => [seq, 'call_a']),
      [4, 'call_b'],
    ]);
    expect(await of('event_types=llm.ai.response')).toEqual([]);
    expect(await of('task_id=nobody')).toEqual([]);
    expect((await ask(path, { key: 'bob-key-123' })).status).toBe(404);
    expect((await ask(`${path}?limit=0`)).status).toBe(422);
  });

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
