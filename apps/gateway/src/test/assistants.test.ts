import type { AssistantReply, RunReply } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { NO_ENV_MODEL, useGateways } from '../testing/gateway-fixture.js';

const CONFIG = `models:
  - name: small
    api_key: unused
  - name: large
    api_key: unused
`;
const ID = '3d1c5a52-5d0e-4b8f-8a55-90a1d1f2a001';

const fixture = useGateways();
let gateways: readonly OpenGateway[];

beforeAll(async () => {
  const env = { ...NO_ENV_MODEL, CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-1:bob' };
  gateways = [await fixture.open({ config: CONFIG, env }), await fixture.open({ config: CONFIG, env })];
}, 30_000);

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

async function send<Body = AssistantReply>(
  method: Method,
  url: string,
  payload?: object,
  { user = 'alice', at = 0 }: { user?: string; at?: number } = {},
) {
  const reply = await gateways[at]?.app.inject({
    method,
    url: `/api${url}`,
    headers: { 'x-api-key': `${user}-key-1` },
    ...(payload === undefined ? {} : { payload }),
  });
  const text = reply?.body ?? '';
  return {
    status: reply?.statusCode,
    headers: reply?.headers,
    body: (text === '' ? {} : JSON.parse(text)) as Body & { detail?: string },
  };
}

const create = async (more: object = {}) =>
  (await send('POST', '/assistants', { graph_id: 'lead_agent', ...more })).body;
const startOn = async (assistant_id: string, more: object = {}) =>
  send<RunReply & { kwargs: { context: object; config: { recursion_limit: number } } }>('POST', '/runs', {
    assistant_id,
    input: { messages: 'hi' },
    ...more,
  });

describe('assistants', () => {
  test('one is created, read, listed, changed and deleted, and is nobody else’s', async () => {
    const made = await create({
      name: 'Ann',
      description: 'd',
      metadata: { team: { a: 1 } },
      context: { model_name: 'large' },
    });
    const { assistant_id: id } = made;

    expect(made).toMatchObject({
      graph_id: 'lead_agent',
      name: 'Ann',
      version: 1,
      config: {},
      context: { model_name: 'large' },
    });
    expect((await send('GET', `/assistants/${id}`)).body).toEqual(made);
    const changed = await send('PATCH', `/assistants/${id}`, { name: 'Anna', metadata: { more: 2 } }, { at: 1 });
    expect(changed.body).toMatchObject({
      name: 'Anna',
      description: 'd',
      version: 2,
      metadata: { team: { a: 1 }, more: 2 },
    });
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', {}],
      ['DELETE', '', undefined],
      ['POST', '/versions', {}],
      ['POST', '/latest', { version: 1 }],
      ['GET', '/subgraphs', undefined],
      ['GET', '/graph', undefined],
    ] as const)
      expect([path, (await send(method, `/assistants/${id}${path}`, body, { user: 'bob' })).status]).toEqual([
        path,
        404,
      ]);
    expect((await startOn(id, {})).status).toBe(200);
    expect((await send('DELETE', `/assistants/${id}`)).status).toBe(204);
    expect((await startOn(id)).status).toBe(404);
  });

  test('search filters, sorts, selects and pages; count agrees', async () => {
    const group = { group: 'search' };
    for (const name of ['b', 'a', 'c']) {
      const { created_at: createdAt } = await create({ name, metadata: group });
      // Those of one millisecond are in the order of their ids.
      await waitFor(() => Date.now() > Date.parse(createdAt), { what: 'another time', everyMs: 1 });
    }
    const search = (more: object) =>
      send<Partial<AssistantReply>[]>('POST', '/assistants/search', { metadata: group, ...more });

    expect((await search({ sort_by: 'name', sort_order: 'asc', select: ['name'] })).body).toEqual(
      ['a', 'b', 'c'].map((name) => ({ name })),
    );
    const page = await search({ limit: 2, sort_by: 'created_at', sort_order: 'asc' });
    expect(page.body.map(({ name }) => name)).toEqual(['b', 'a']);
    expect(page.headers).toMatchObject({ 'x-pagination-next': '2', 'x-pagination-total': '3' });
    expect((await search({ offset: 2 })).headers?.['x-pagination-next']).toBeUndefined();
    expect((await send<number>('POST', '/assistants/count', { metadata: group })).body).toBe(3);
    expect((await send<number>('POST', '/assistants/count', { metadata: group }, { user: 'bob' })).body).toBe(0);
  });

  test('an id is taken once, also by two gateways at once; do_nothing returns what is there', async () => {
    const body = (name: string) => ({ graph_id: 'lead_agent', assistant_id: ID, name, if_exists: 'raise' });
    const both = await Promise.all([
      send('POST', '/assistants', body('one'), { at: 0 }),
      send('POST', '/assistants', body('two'), { at: 1 }),
    ]);

    expect(both.map(({ status }) => String(status)).sort()).toEqual(['200', '409']);
    const winner = both.find(({ status }) => status === 200)?.body;
    expect((await send('POST', '/assistants', { ...body('three'), if_exists: 'do_nothing' })).body).toEqual(winner);
    expect((await send('POST', '/assistants', body('hers'), { user: 'bob' })).body).toMatchObject({ name: 'hers' });
  });

  test('changes of different fields by two gateways at once all take effect, each as a version', async () => {
    const { assistant_id: id } = await create();
    await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        send('PATCH', `/assistants/${id}`, { metadata: { [`k${index}`]: index } }, { at: index % 2 }),
      ),
    );

    const { body } = await send('GET', `/assistants/${id}`);
    expect([Object.keys(body.metadata).sort(), body.version]).toEqual([['k0', 'k1', 'k2', 'k3', 'k4', 'k5'], 7]);
    const versions = await send<AssistantReply[]>('POST', `/assistants/${id}/versions`, { limit: 3, offset: 1 });
    expect(versions.body.map(({ version }) => version)).toEqual([6, 5, 4]);
  });

  test('runs have the settings of the current version below their own; a later change does not concern them', async () => {
    const { assistant_id: id } = await create({
      context: { model_name: 'large', temperature: 1 },
      config: { recursion_limit: 7, configurable: { thinking_enabled: false } },
    });
    await send('PATCH', `/assistants/${id}`, { context: { model_name: 'small' } });

    const run = await startOn(id, { context: { thinking_enabled: true } });
    expect(run.body).toMatchObject({
      metadata: { assistant_id: id, assistant_version: 2 },
      kwargs: { context: { model_name: 'small', thinking_enabled: true }, config: { recursion_limit: 7 } },
    });
    expect(run.body.kwargs.context).not.toHaveProperty('temperature');
    expect((await send('POST', `/assistants/${id}/latest`, { version: 1 })).body).toMatchObject({ version: 1 });
    expect((await startOn(id, { config: { recursion_limit: 3 } })).body).toMatchObject({
      metadata: { assistant_version: 1 },
      kwargs: { context: { model_name: 'large', temperature: 1 }, config: { recursion_limit: 3 } },
    });
    expect((await send('POST', `/assistants/${id}/latest`, { version: 9 })).status).toBe(404);
  });

  test('an assistant is deleted with its threads, unless one of them has a run in flight', async () => {
    const { assistant_id: id } = await create();
    const { body: thread } = await send<{ thread_id: string }>('POST', '/threads', { metadata: { assistant_id: id } });
    const busy = (await startOn(id, { on_completion: 'keep' })).body;

    expect((await send('DELETE', `/assistants/${id}?delete_threads=true`)).status).toBe(409);
    expect((await send('GET', `/assistants/${id}`)).status).toBe(200);
    await send('POST', `/threads/${busy.thread_id}/runs/${busy.run_id}/cancel`);
    expect((await send('DELETE', `/assistants/${id}?delete_threads=true`)).status).toBe(204);
    expect((await send('GET', `/threads/${thread.thread_id}`)).status).toBe(404);
    expect((await send('GET', `/threads/${busy.thread_id}`)).status).toBe(404);
  });

  test('the lead agent and custom agents are read as assistants and changed elsewhere', async () => {
    await send('POST', '/agents', { name: 'poet' });
    expect((await send('GET', '/assistants/poet/subgraphs')).body).toEqual({});
    expect((await send('POST', '/assistants/poet/versions', {})).body).toMatchObject([
      { assistant_id: 'poet', version: 1 },
    ]);
    for (const id of ['poet', 'lead_agent']) {
      for (const [method, path, body] of [
        ['PATCH', '', { name: 'x' }],
        ['DELETE', '', undefined],
        ['POST', '/latest', { version: 1 }],
      ] as const)
        expect(await send(method, `/assistants/${id}${path}`, body)).toMatchObject({
          status: 400,
          body: { detail: expect.stringContaining('cannot be changed here') },
        });
    }
  });

  test.each([
    [{}, 'graph_id: must be lead_agent'],
    [{ graph_id: 'other' }, 'graph_id: must be lead_agent'],
    [{ graph_id: 'lead_agent', assistant_id: 'poet' }, 'assistant_id: must be a UUID'],
    [{ graph_id: 'lead_agent', context: { model_name: 'none' } }, 'context.model_name: there is no model'],
    [{ graph_id: 'lead_agent', context: { temperature: 9 } }, 'temperature: '],
    [{ graph_id: 'lead_agent', context: { secrets: { a: 1 } } }, 'context.secrets: '],
    [{ graph_id: 'lead_agent', config: { tags: ['x'] } }, 'config.tags: is not supported'],
    [{ graph_id: 'lead_agent', name: '' }, 'name: '],
    [{ graph_id: 'lead_agent', ttl: 5 }, 'ttl: is not supported'],
  ])('%j is a 422', async (body, detail) => {
    const reply = await send('POST', '/assistants', body);
    expect([reply.status, reply.body.detail]).toEqual([422, expect.stringContaining(detail)]);
  });
});
