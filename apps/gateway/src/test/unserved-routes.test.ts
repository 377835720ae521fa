import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const RUN = '3d1c5a52-5d0e-4b8f-8a55-90a1d1f2a001';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What the SDK would ask for and docs/clients.md names as not served. */
describe('of the LangGraph API', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;

  const send = async (method: Method, url: string, payload?: object) =>
    await gateway.app.inject({ method, url: `/api/langgraph${url}`, ...(payload === undefined ? {} : { payload }) });
  const detailOf = (answer: { json<T>(): T }) => answer.json<{ detail: string }>().detail;

  beforeAll(async () => {
    gateway = await fixture.open();
    await send('POST', '/threads', { thread_id: 't1' });
  }, 30_000);

  test.each<[string, Method, string]>([
    ['assistants.create', 'POST', '/assistants'],
    ['assistants.update', 'PATCH', '/assistants/lead_agent'],
    ['assistants.delete', 'DELETE', '/assistants/lead_agent'],
    ['assistants.count', 'POST', '/assistants/count'],
    ['assistants.getSubgraphs', 'GET', '/assistants/lead_agent/subgraphs'],
    ['assistants.getVersions', 'POST', '/assistants/lead_agent/versions'],
    ['assistants.setLatest', 'POST', '/assistants/lead_agent/latest'],
    ['threads.joinStream', 'GET', '/threads/t1/stream'],
    ['threads.patchState', 'PATCH', '/threads/t1/state'],
    ['threads.prune', 'POST', '/threads/prune'],
    ['runs.joinStream without a thread', 'GET', `/runs/${RUN}/stream`],
    ['runs.cancelMany', 'POST', '/runs/cancel'],
    ['crons.create', 'POST', '/runs/crons'],
    ['crons.createForThread', 'POST', '/threads/t1/runs/crons'],
    ['crons.search', 'POST', '/runs/crons/search'],
    ['crons.count', 'POST', '/runs/crons/count'],
    ['crons.delete', 'DELETE', `/runs/crons/${RUN}`],
    ['store.putItem', 'PUT', '/store/items'],
    ['store.getItem', 'GET', '/store/items?namespace=a&key=b'],
    ['store.searchItems', 'POST', '/store/items/search'],
    ['store.listNamespaces', 'POST', '/store/namespaces'],
  ])('%s is answered with 404: the path is not known', async (_, method, url) => {
    const answer = await send(method, url, method === 'GET' || method === 'DELETE' ? undefined : {});

    expect([answer.statusCode, detailOf(answer)]).toEqual([404, expect.stringContaining('does not know this path')]);
  });

  test.each([
    ['an answer', { type: 'ai', content: 'x' }],
    ["a tool's result", { type: 'tool', content: 'x', tool_call_id: 'c1' }],
    ['a removal', { type: 'remove', id: 'm1', content: '' }],
  ])('updateState with %s among its messages is a 422 that names it', async (_, message) => {
    const answer = await send('POST', '/threads/t1/state', { values: { messages: [message] } });

    expect([answer.statusCode, detailOf(answer)]).toEqual([422, expect.stringMatching(/^values\.messages\.0/)]);
  });

  test('getHistory from a checkpoint is a 422 that names the field', async () => {
    const checkpoint = { checkpoint_id: RUN, checkpoint_ns: '' };
    const answer = await send('POST', '/threads/t1/history', { checkpoint });

    expect([answer.statusCode, detailOf(answer)]).toEqual([
      422,
      expect.stringMatching(/^checkpoint: is not supported/),
    ]);
  });
});
