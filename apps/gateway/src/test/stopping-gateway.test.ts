import { waitFor } from '@caribou/testing';
import { useGateways } from '../testing/gateway-fixture.js';
import { OpenStreams } from '../runs/streams/open-streams.js';

describe('a gateway that is stopping', () => {
  const fixture = useGateways();

  test('is not ready for traffic, although runs could not be executed before either, and opens no streams once it cuts them', async () => {
    const { app, onStopping } = await fixture.open();
    const statusOf = async (url: string) => (await app.inject({ url })).statusCode;
    expect([await statusOf('/ready?for=traffic'), await statusOf('/ready')]).toEqual([200, 503]);
    expect(await statusOf('/ready?for=everything')).toBe(422);

    onStopping();

    expect([await statusOf('/ready?for=traffic'), await statusOf('/health')]).toEqual([503, 200]);
    expect((await app.inject({ url: '/ready' })).json()).toMatchObject({
      status: 'not ready',
      missing: { stopping: expect.any(String) },
    });
    const metrics = (await app.inject({ url: '/metrics' })).body;
    expect(metrics).toMatch(/^caribou_draining\{service="gateway"\} 1$/m);

    app.get(OpenStreams).cutAll();

    const thread = (await app.inject({ method: 'POST', url: '/api/threads', payload: {} })).json<{
      thread_id: string;
    }>();
    const refused = await app.inject({
      ...{ method: 'POST', url: `/api/threads/${thread.thread_id}/runs/stream` },
      payload: { assistant_id: 'lead_agent', input: { messages: [{ role: 'user', content: 'hi' }] } },
    });
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, expect.any(String)]);
    expect((await app.inject({ url: `/api/threads/${thread.thread_id}/runs` })).json()).toEqual([]);
  });

  test('the share of memory that Redis uses is a metric', async () => {
    const { app } = await fixture.open();
    const redis = fixture.connectRedis();
    const share = async () => {
      const { body } = await app.inject({ url: '/metrics' });
      return Number(/^caribou_redis_memory_ratio\{[^}]*\} (\S+)$/m.exec(body)?.[1]);
    };
    expect(await share()).toBe(0);

    await redis.use((client) => client.config('SET', 'maxmemory', '100mb'));

    await waitFor(async () => (await share()) > 0, { what: 'a share' });
    expect(await share()).toBeLessThan(0.5);
    await redis.use((client) => client.config('SET', 'maxmemory', '0'));
  });
});
