import { createRedis } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

// The share of maxmemory is checked each second; used memory is never below half a megabyte.
const fixture = useGateways({ args: ['--maxmemory', '100mb'] });
let gateway: OpenGateway;

const body = { assistant_id: 'lead_agent', input: { messages: [{ role: 'user', content: 'hi' }] } };
const post = (url: string) => gateway.app.inject({ method: 'POST', url, payload: body });
const get = (url: string) => gateway.app.inject({ method: 'GET', url });

beforeAll(async () => {
  gateway = await fixture.open({ env: { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' } });
}, 30_000);

describe('a Redis that', () => {
  test('is nearly full takes no new runs, says when to come back, and takes them once it has room', async () => {
    const admin = createRedis({ url: fixture.redis.url });
    const maxMemory = (size: string) => admin.use((client) => client.config('SET', 'maxmemory', size));
    const fresh = async () => (await post('/api/runs')).statusCode;
    expect(await fresh()).toBe(200);
    const used = Number(/used_memory:(\d+)/.exec(await admin.use((client) => client.info('memory')))?.[1]);

    await maxMemory(String(Math.round(used * 1.1)));
    await waitFor(async () => (await fresh()) === 429, { what: 'a refusal' });
    const refused = await post('/api/runs');
    const retryAfter = Number(refused.headers['retry-after']);
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    expect(retryAfter).toBeLessThan(30);
    expect(refused.json()).toMatchObject({ detail: expect.stringContaining('80 % full') as string });

    await maxMemory('100mb');
    await waitFor(async () => (await fresh()) === 200, { what: 'room again' });
    await admin.close();
  }, 30_000);

  test('stalls while a run is stored leaves a refusal that names the run, which may be found later', async () => {
    fixture.redis.pause();
    const refused = await post('/api/runs').finally(() => fixture.redis.resume());

    expect(refused.statusCode).toBe(503);
    const { run_id: runId, thread_id: threadId } = refused.json<{ run_id: string; thread_id: string }>();
    expect(refused.json<{ detail: string }>().detail).toContain(`run ${runId} on thread ${threadId} may have been`);
    await waitFor(async () => (await get(`/api/threads/${threadId}/runs/${runId}`)).statusCode === 200, {
      what: 'the run that was stored late',
    });
  }, 30_000);
});
