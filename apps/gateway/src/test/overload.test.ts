import { waitFor } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';
import { loadEventLoop } from '../testing/busy-event-loop.js';

const fixture = useGateways({ appendonly: false });
let gateway: OpenGateway;

beforeAll(async () => {
  gateway = await fixture.open({ config: 'quotas:\n  max_event_loop_lag_ms: 250\n', refusesWhenLate: true });
}, 30_000);

const run = { assistant_id: 'lead_agent', input: { messages: [{ role: 'user', content: 'hi' }] } };
const start = () => gateway.app.inject({ method: 'POST', url: '/api/runs', payload: run });
const get = (url: string) => gateway.app.inject({ method: 'GET', url });

describe('a gateway whose event loop runs too late', () => {
  test('starts no runs, says why and when to come back, and serves everything else', async () => {
    const stopLoad = loadEventLoop(600);
    try {
      await waitFor(async () => (await start()).statusCode === 503, { what: 'a refusal', timeoutMs: 40_000 });
      const refused = await start();
      expect(refused.json()).toMatchObject({ reason: 'overloaded', detail: expect.stringContaining('event loop') });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect((await get('/api/models')).statusCode).toBe(200);
      expect((await get('/metrics')).body).toMatch(
        /refused_requests_total\{reason="overloaded",service="gateway"\} \d/,
      );
    } finally {
      stopLoad();
    }
    await waitFor(async () => (await start()).statusCode === 200, { what: 'a started run' });
  }, 90_000);
});
