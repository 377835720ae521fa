import { type GoalState, newId } from '@caribou/contracts';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';
import { type ThreadClient, useThreadClient } from '../testing/thread-client.js';

const KEYS = { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-123:bob' };

const fixture = useGateways();
let client: ThreadClient;

useThreadClient(
  fixture,
  (opened) => {
    client = opened;
  },
  { user: { userId: 'alice', key: 'alice-key-1' }, env: KEYS },
);

interface Answer {
  readonly status: number;
  readonly body: { readonly goal?: GoalState | null; readonly detail?: unknown };
}

async function call(
  method: 'GET' | 'PUT' | 'DELETE',
  path: string,
  payload?: object,
  key = 'alice-key-1',
): Promise<Answer> {
  return callOn(client.gateway, { method, url: path, ...(payload && { payload }), headers: { 'x-api-key': key } });
}

async function callOn(
  { app }: OpenGateway,
  request: Parameters<OpenGateway['app']['inject']>[0] & object,
): Promise<Answer> {
  const reply = await app.inject(request);
  return { status: reply.statusCode, body: reply.json<Answer['body']>() };
}

const set = (threadId: string, body: object = { objective: 'Write it.' }): Promise<Answer> =>
  call('PUT', `/api/threads/${threadId}/goal`, body);
const get = (threadId: string, key?: string): Promise<Answer> =>
  call('GET', `/api/threads/${threadId}/goal`, undefined, key);

describe('the goal of a thread', () => {
  test('is set, read, replaced and removed, under every root', async () => {
    const threadId = await client.newThread();
    expect(await get(threadId)).toEqual({ status: 200, body: { goal: null } });

    const made = await set(threadId, { objective: '  Write it.\nAll of it. ' });

    expect(made).toMatchObject({
      status: 200,
      body: {
        goal: {
          objective: 'Write it.\nAll of it.',
          status: 'active',
          continuation_count: 0,
          max_continuations: 8,
          no_progress_count: 0,
          max_no_progress_continuations: 2,
        },
      },
    });
    for (const root of ['/api', '/api/langgraph'])
      expect(await call('GET', `${root}/threads/${threadId}/goal`)).toEqual(made);
    const other = await call('PUT', `/api/langgraph/threads/${threadId}/goal`, {
      objective: 'Other.',
      max_continuations: 0,
    });
    expect(other.body.goal).toMatchObject({ objective: 'Other.', max_continuations: 0 });
    expect((await client.ask<{ values: object }>(`/${threadId}/state`)).body.values).toMatchObject(other.body);
    const removed = { status: 200, body: { goal: null } };
    expect(await call('DELETE', `/api/threads/${threadId}/goal`)).toEqual(removed);
    expect(await call('DELETE', `/api/langgraph/threads/${threadId}/goal`)).toEqual(removed);
    expect(await get(threadId)).toEqual(removed);
    expect((await client.ask<{ values: object }>(`/${threadId}/state`)).body.values).not.toHaveProperty('goal');
  });

  test('may be set for a thread that does not exist, as pages do before the first message', async () => {
    const threadId = newId();

    const made = await set(threadId);

    expect(made.status).toBe(200);
    expect(await get(threadId)).toEqual(made);
    await client.turn(threadId, 'K2');
    expect(await get(threadId)).toEqual(made);
  });

  test('may be set and removed while a run is in flight', async () => {
    const threadId = await client.newThread();
    await client.start(threadId, { input: null });

    const made = await set(threadId);

    expect(made.status).toBe(200);
    expect(await get(threadId)).toEqual(made);
    expect((await call('DELETE', `/api/threads/${threadId}/goal`)).status).toBe(200);
    expect((await get(threadId)).body.goal).toBeNull();
  });

  test('is of its user: another one neither reads, removes nor changes it', async () => {
    const threadId = await client.newThread();
    const made = await set(threadId);

    expect((await get(threadId, 'bob-key-123')).status).toBe(404);
    expect((await call('DELETE', `/api/threads/${threadId}/goal`, undefined, 'bob-key-123')).status).toBe(404);
    await call('PUT', `/api/threads/${threadId}/goal`, { objective: "Bob's." }, 'bob-key-123');

    expect(await get(threadId)).toEqual(made);
  });

  test('goes with a branch, and is gone with the thread', async () => {
    const threadId = await client.newThread();
    const made = await set(threadId);
    await client.turn(threadId, 'K2');
    const message = { message_id: await client.idOf(threadId, 'about K2') };
    const { body } = await client.ask<{ thread_id: string }>(`/${threadId}/branches`, message);

    await client.gateway.app.inject({
      method: 'DELETE',
      url: `/api/threads/${threadId}`,
      headers: { 'x-api-key': 'alice-key-1' },
    });

    expect((await get(threadId)).status).toBe(404);
    expect((await call('DELETE', `/api/threads/${threadId}/goal`)).status).toBe(404);
    expect(await get(body.thread_id)).toEqual(made);
  });

  test.each([
    ['nothing', {}, 'objective'],
    ['no text', { objective: 7 }, 'objective'],
    ['white space', { objective: ' \n ' }, 'objective'],
    ['a text above the limit', { objective: 'x'.repeat(4_001) }, '4000'],
    ['a control character', { objective: 'a\u0000b' }, 'control characters'],
    ['a negative number', { objective: 'x', max_continuations: -1 }, 'max_continuations'],
    ['more than the configuration allows', { objective: 'x', max_continuations: 9 }, 'at most 8'],
    ['an unknown field', { objective: 'x', status: 'paused' }, 'status'],
  ])('of %s is refused, and the one before remains', async (_what, body, named) => {
    const threadId = await client.newThread();
    const made = await set(threadId);

    const refused = await set(threadId, body);

    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body.detail)).toContain(named);
    expect(await get(threadId)).toEqual(made);
  });

  test('can be switched off: none can be set, pages learn it, and one that is there can be removed', async () => {
    const threadId = await client.newThread();
    const made = await set(threadId);
    const off = await fixture.open({ config: 'goals: {enabled: false}\n', env: KEYS });
    const headers = { 'x-api-key': 'alice-key-1' };
    const url = `/api/threads/${threadId}/goal`;

    const refused = await callOn(off, { method: 'PUT', url, headers, payload: { objective: 'x' } });

    expect(refused).toEqual({
      status: 403,
      body: { detail: 'threads have no goals here: goals.enabled is false' },
    });
    expect(await callOn(off, { url, headers })).toEqual(made);
    expect((await callOn(off, { method: 'DELETE', url, headers })).body.goal).toBeNull();
    expect((await callOn(off, { url: '/api/features', headers })).body).toMatchObject({ goals: { enabled: false } });
    expect((await call('GET', '/api/features')).body).toMatchObject({ goals: { enabled: true } });
  });
});
