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

  test.each<[string, Method, string]>([['ui.getComponent', 'POST', '/ui/lead_agent']])(
    '%s is answered with 404: the path is not known',
    async (_, method, url) => {
      const answer = await send(method, url, method === 'GET' || method === 'DELETE' ? undefined : {});

      expect([answer.statusCode, detailOf(answer)]).toEqual([404, expect.stringContaining('does not know this path')]);
    },
  );

  test('getHistory from a checkpoint is a 422 that names the field', async () => {
    const checkpoint = { checkpoint_id: RUN, checkpoint_ns: '' };
    const answer = await send('POST', '/threads/t1/history', { checkpoint });

    expect([answer.statusCode, detailOf(answer)]).toEqual([
      422,
      expect.stringMatching(/^checkpoint: is not supported/),
    ]);
  });
});
