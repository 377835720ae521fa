import { newId, type RequestReply, type TraceReply } from '@caribou/contracts';
import { applyUpdate, type StepTrace } from '@caribou/core';
import {
  type RedisConnection,
  redisRunStore,
  redisTaskStore,
  redisThreadStore,
  taskPart,
  traceSettings,
} from '@caribou/state';
import { admission, ai, human } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const STEP: StepTrace = {
  ...{ nowMs: 2_000, tools: [], dropped: 0 },
  calls: [
    {
      ...{ atMs: 1_000, caller: 'lead_agent', attempt: 1, because: 'first', model: 'm1', outcome: 'ok' },
      request: {
        parameters: { temperature: 0.5 },
        system: { hash: 'systemsystem1234', text: 'Be kind.' },
        tools: { hash: 'toolstoolstools1', text: '[{"name":"bash","description":"runs","parameters":{}}]' },
        messages: [{ isBefore: false, from: 0, count: 2 }, { hash: 'missingmissing12' }],
      },
    },
  ],
};

describe('traces of runs over REST', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;
  let redis: RedisConnection;

  beforeAll(async () => {
    const keys = 'alice-key-1:alice,bob-key-123:bob,admin-key-1:root:admin';
    gateway = await fixture.open({ env: { CARIBOU_API_KEYS: keys } });
    redis = fixture.connectRedis();
  }, 30_000);

  const ask = async <Body>(url: string, { key = 'alice-key-1', from = gateway } = {}) => {
    const reply = await from.app.inject({ method: 'GET', url: `/api${url}`, headers: { 'x-api-key': key } });
    return { status: reply.statusCode, body: reply.json<Body & { detail?: unknown }>() };
  };

  const post = (from: OpenGateway, url: string, payload: object) =>
    from.app.inject({ method: 'POST', url: `/api${url}`, headers: { 'x-api-key': 'alice-key-1' }, payload });

  /** A run that a client starts, and that a runner ends with one step. */
  async function endedRun(from = gateway): Promise<string> {
    const threadId = newId();
    const body = {
      assistant_id: 'lead_agent',
      if_not_exists: 'create',
      input: { messages: [{ role: 'user', content: 'hi' }] },
    };
    const started = await post(from, `/threads/${threadId}/runs`, body);
    expect(started.statusCode).toBe(200);
    const settings = traceSettings(redis, { enabled: true, retentionMs: 3_600_000 }, 'agent-runner@host-3~4711~m1');
    const runner = redisRunStore(redis, settings === undefined ? {} : { trace: settings });
    const claimed = await runner.claim({ userId: 'alice', threadId }, newId());
    if (claimed.kind !== 'run') throw new Error(claimed.kind);
    const messages = [...(claimed.run.kwargs.input?.messages ?? []), human('more'), ai('hello')];
    const state = applyUpdate(claimed.head.state, { messages });
    await runner.finish(claimed.lease, {
      ...{ status: 'success', events: [], trace: STEP },
      commit: { head: claimed.head, state, next: [], source: 'loop', step: 1, events: [] },
    });
    return `/threads/${threadId}/runs/${started.json<{ run_id: string }>().run_id}`;
  }

  test('show each step, also after the event log and the inputs have expired', async () => {
    const url = await endedRun();
    await redis.use(async (client) => {
      const names = [...(await client.keys('*events:*')), ...(await client.keys('*:kwargs'))];
      await client.del(...names);
    });

    const { status, body } = await ask<TraceReply>(`${url}/trace`);

    expect(status).toBe(200);
    expect(body.run).toMatchObject({ run_id: url.split('/').at(-1), status: 'success' });
    expect(body.entries.map(({ type }) => type)).toEqual(['admitted', 'claimed', 'model_call', 'commit', 'ended']);
    expect(body.entries[0]).toMatchObject({
      ...{ process: expect.stringMatching(/^gateway@.+ \(pid \d+\)$/) as string },
      ...{ api_key: expect.any(String) as string, request: 'input' },
    });
    expect(Date.parse(body.retained_until ?? '')).toBeGreaterThan(Date.now());
    expect(body.next).toBeNull();
  });

  test('are read by pages', async () => {
    const url = await endedRun();
    const whole = await ask<TraceReply>(`${url}/trace`);

    const first = await ask<TraceReply>(`${url}/trace?limit=2`);
    const rest = await ask<TraceReply>(`${url}/trace?after=${first.body.next}&limit=5000`);

    expect([...first.body.entries, ...rest.body.entries]).toEqual(whole.body.entries);
    expect(rest.body.next).toBeNull();
  });

  test('show a request as the model saw it, and which part is not stored', async () => {
    const url = await endedRun();
    const { body } = await ask<TraceReply>(`${url}/trace`);
    const call = body.entries.find(({ type }) => type === 'model_call')?.seq;

    const { status, body: request } = await ask<RequestReply>(`${url}/requests/${call}`);

    expect(status).toBe(200);
    expect(request).toMatchObject({ model: 'm1', call, system: 'Be kind.', parameters: { temperature: 0.5 } });
    expect(request.tools).toEqual([{ name: 'bash', description: 'runs', parameters: {} }]);
    expect(request.messages.map(({ from, message }) => [from, message?.content])).toEqual([
      ['state', 'hi'],
      ['state', 'more'],
      ['chain', undefined],
    ]);
    expect(request.missing).toEqual([{ part: 'messages', reason: 'expired', from: 2, count: 1 }]);
    expect(request).toMatchObject({ total_messages: 3, next_offset: null });
    const page = await ask<RequestReply>(`${url}/requests/${call}?offset=1&limit=1`);
    expect(page.body).toMatchObject({ messages: [{ index: 1 }], next_offset: 2, missing: [] });
  });

  test('are their owner’s, and an administrator’s who names the owner', async () => {
    const url = await endedRun();
    const call = (await ask<TraceReply>(`${url}/trace`)).body.entries[2]?.seq;
    const paths = [`${url}/trace`, `${url}/requests/${call}`];

    for (const path of paths) {
      expect((await ask(path, { key: 'bob-key-123' })).status).toBe(404);
      expect((await ask(`${path}?user_id=alice`, { key: 'bob-key-123' })).status).toBe(404);
      expect((await ask(path, { key: 'admin-key-1' })).status).toBe(404);
      expect((await ask(`${path}?user_id=alice`, { key: 'admin-key-1' })).status).toBe(200);
    }
  });

  test('are refused with a reason for a wrong number, page or run', async () => {
    const url = await endedRun();

    expect(await ask(`${url}/requests/1`)).toMatchObject({
      status: 404,
      body: { detail: expect.stringContaining('request 1') as string },
    });
    expect((await ask(`${url}/requests/0`)).status).toBe(422);
    expect((await ask(`${url}/trace?limit=5001`)).status).toBe(422);
    expect((await ask(`/threads/${newId()}/runs/${newId()}/trace`)).status).toBe(404);
    expect((await ask(`${url}/tasks/call_x/trace`)).status).toBe(404);
  });

  test('of tasks are read by the run that dispatched them', async () => {
    const url = await endedRun();
    const [, , threadId = '', , runId = ''] = url.split('/');
    const settings = traceSettings(redis, { enabled: true, retentionMs: 3_600_000 }, 'agent-runner@host-3~4711~m1');
    const limits = { maxPending: 10, maxPendingPerUser: 10, keptMs: 60_000 };
    const spec = {
      parent: { thread_id: threadId, run_id: runId, tool_call_id: 'call_a' },
      ...{ subagent_type: 'bash', description: 'd', tools: [], model: 'm1', args_hash: 'x' },
    };
    await redisTaskStore(taskPart(redis), {
      ...limits,
      ...(settings === undefined ? {} : { trace: settings }),
    }).dispatch({
      ...{ userId: 'alice', spec, prompt: human('do it'), maxTurns: 5, timeoutMs: 1_000 },
    });

    const { status, body } = await ask<TraceReply>(`${url}/tasks/call_a/trace`);

    expect(status).toBe(200);
    expect(body.entries).toMatchObject([
      { type: 'admitted', request: 'task', process: 'agent-runner@host-3 (pid 4711)' },
    ]);
    expect((await ask(`${url}/tasks/call_a/trace`, { key: 'bob-key-123' })).status).toBe(404);
  });

  test('name who cancelled a run', async () => {
    const threadId = newId();
    const { run } = await redisThreadStore(redis).admit(admission({ userId: 'bob', threadId }));
    const body = {
      assistant_id: 'lead_agent',
      if_not_exists: 'create',
      input: { messages: [{ role: 'user', content: 'hi' }] },
    };
    const own = newId();
    const started = (await post(gateway, `/threads/${own}/runs`, body)).json<{ run_id: string }>();

    await post(gateway, `/threads/${own}/runs/${started.run_id}/cancel`, {});

    const { body: trace } = await ask<TraceReply>(`/threads/${own}/runs/${started.run_id}/trace`);
    expect(trace.entries).toMatchObject([
      { type: 'admitted' },
      { type: 'cancel_requested', action: 'interrupt', by: 'user:alice' },
      { type: 'ended', status: 'interrupted', process: null },
    ]);
    // A run whose admission began no trace has none.
    const without = await ask<TraceReply>(`/threads/${threadId}/runs/${run.run_id}/trace`, { key: 'bob-key-123' });
    expect(without.body).toMatchObject({ entries: [], next: null, retained_until: null });
  });

  test('are not stored when the configuration says so', async () => {
    const config = 'explain:\n  enabled: false\n';
    const off = await fixture.open({ config, env: { CARIBOU_API_KEYS: 'alice-key-1:alice' } });

    const { status, body } = await ask<TraceReply>(`${await endedRun(off)}/trace`, { from: off });

    expect(status).toBe(200);
    expect(body.entries).toEqual([]);
  });
});
