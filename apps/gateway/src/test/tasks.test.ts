import {
  type Message,
  newId,
  type RunRecord,
  type RunLogEvent,
  type SubagentStep,
  taskIds,
  type TaskSpec,
} from '@caribou/contracts';
import { applyUpdate } from '@caribou/core';
import { admission, ai, human } from '@caribou/testing';
import { type RedisConnection, redisRunStore, redisTaskStore, redisThreadStore, taskPart } from '@caribou/state';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

type Event = Omit<RunLogEvent, 'content'> & { readonly content: SubagentStep };

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
    const of = async (query: string) => (await ask(`${path}?${query}`)).body as Event[];
    const steps = await of('event_types=subagent.step&task_id=call_a&limit=2');
    expect(steps.map(({ content }) => [content.message_index, content.kind])).toEqual([
      [1, 'ai'],
      [2, 'tool'],
    ]);
    expect(steps[0]).toMatchObject({ event_type: 'subagent.step', metadata: { task_id: 'call_a' } });
    expect(steps[0]?.content).toMatchObject({ text: 'Looking.', tool_calls: [{ name: 'bash', args_truncated: true }] });
    expect(steps[1]?.content).toMatchObject({ tool_name: 'bash', tool_call_id: 'c', truncated: true });
    expect(steps[1]?.content.text).toHaveLength(8_192);
    const last = steps.at(-1)?.seq ?? 0;
    const rest = await of(`event_types=subagent.step&task_id=call_a&limit=2&after_seq=${last}`);
    expect(rest).toMatchObject([{ content: { text: 'done it', truncated: false, tool_calls: [] } }]);
    const all = await of('event_types=subagent.start,subagent.step,subagent.end');
    expect(all.map(({ event_type: type, content }) => [type, content.task_id])).toEqual([
      ['subagent.start', 'call_a'],
      ...[1, 2, 3].map(() => ['subagent.step', 'call_a']),
      ['subagent.end', 'call_a'],
      ['subagent.start', 'call_b'],
      ['subagent.step', 'call_b'],
      ['subagent.end', 'call_b'],
    ]);
    expect(all.slice(1, 4).map(({ seq }) => seq)).toEqual([...steps, ...rest].map(({ seq }) => seq));
    expect(all[4]?.content).toMatchObject({ status: 'completed', result: 'done it', result_truncated: false });
    expect(await of('event_types=llm.ai.response')).toEqual([]);
    expect(await of('task_id=nobody')).toEqual([]);
  });

  /** A run with an answer, the result of a tool, a change by a middleware, and an end. */
  async function workedRun(): Promise<RunRecord> {
    const key = { userId: 'alice', threadId: newId() };
    const { run } = await redisThreadStore(redis).admit(admission(key));
    const runs = redisRunStore(redis);
    const claimed = await runs.claim(key, newId());
    if (claimed.kind !== 'run') throw new Error(claimed.kind);
    const shown = { step: 1, next: [], source: 'loop' as const };
    const change = { kind: 'task.end' as const, task_id: newId(), node: 'title.after_model', error: null };
    const extras = { provider: 'p', model: 'm1', dialect: 'd', message: { secret: 'x' } };
    const first = { messages: [human('walk'), { ...ai('Walking.'), provider_extras: extras }] };
    const { head } = await runs.commit(claimed.lease, {
      ...{ ...shown, head: claimed.head, state: applyUpdate(claimed.head.state, first) },
      events: [{ ...change, step: 1, update: { title: 'A walk' } }],
    });
    const state = applyUpdate(head.state, { messages: [ai('Done.')] });
    const error = { name: 'ModelError', message: 'it broke' };
    await runs.finish(claimed.lease, {
      status: 'error',
      error,
      events: [],
      commit: { ...shown, head, state, events: [] },
    });
    return run;
  }

  test('the messages, the start and end, and the changes by middlewares of a run are its events', async () => {
    const run = await workedRun();
    const path = `/threads/${run.thread_id}/runs/${run.run_id}/events`;
    const of = async (query = '') => (await ask(`${path}?${query}`)).body as RunLogEvent[];
    const all = await of();

    expect(all.map(({ event_type: type, category }) => [type, category])).toEqual([
      ['run.start', 'trace'],
      ['llm.human.input', 'message'],
      ['llm.ai.response', 'message'],
      ['middleware:title', 'middleware'],
      ['llm.ai.response', 'message'],
      ['run.error', 'error'],
      ['run.end', 'outputs'],
    ]);
    expect(all[0]?.metadata).toEqual({ caller: 'lead_agent', attempt: 1, middleware_events: 'complete' });
    expect(all[2]).toMatchObject({
      run_id: run.run_id,
      content: { content: 'Walking.' },
      metadata: { llm_call_index: 1 },
    });
    expect(all[5]).toMatchObject({ content: 'it broke', metadata: { error_type: 'ModelError' } });
    expect(all[6]?.metadata).toEqual({ status: 'error' });
    expect(JSON.stringify(all)).not.toContain('secret');
  });

  test('pages of any size, and of chosen types, have each event once and under one number', async () => {
    const run = await workedRun();
    const path = `/threads/${run.thread_id}/runs/${run.run_id}/events`;
    const of = async (query: string) => (await ask(`${path}?${query}`)).body as RunLogEvent[];
    const all = await of('limit=2000');
    const paged: RunLogEvent[] = [];
    for (let page = await of('limit=1'); page.length > 0 && paged.length < 20; ) {
      paged.push(...page);
      page = await of(`limit=1&after_seq=${page.at(-1)?.seq}`);
    }
    expect(paged).toEqual(all);
    expect(await of('event_types=llm.ai.response,run.end')).toEqual(
      all.filter(({ event_type: type }) => type === 'llm.ai.response' || type === 'run.end'),
    );
    expect(await of('event_types=no.such.type')).toEqual([]);
  });

  test.each([
    ['limit=0', 'limit: '],
    ['limit=2001', 'limit: '],
    ['limit=x', 'limit: '],
    ['after_seq=-1', 'after_seq: '],
    ['task_id=', 'task_id: '],
    [`task_id=${'x'.repeat(101)}`, 'task_id: '],
    [`event_types=${'a,'.repeat(20)}`, 'event_types: '],
  ])('events asked for with %s are refused by name', async (query, detail) => {
    const run = await parentRun(newId());
    const refused = await ask(`/threads/${run.thread_id}/runs/${run.run_id}/events?${query}`);
    expect(refused).toMatchObject({ status: 422, body: { detail: expect.stringContaining(detail) } });
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
      ask(path.replace(/tasks$/, 'events'), { key: 'bob-key-123' }),
      ask(`/threads/${run.thread_id}/runs/${newId()}/events`),
      ask(`/threads/${run.thread_id}/runs/${newId()}/tasks`),
      ask(`/threads/${newId()}/runs/${run.run_id}/tasks`),
    ]);
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 404));
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
