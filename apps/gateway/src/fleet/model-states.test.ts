import type { ModelState } from '@caribou/contracts';
import { redisModelGate, type RedisConnection } from '@caribou/state';
import type { OpenGateway } from '../open-gateway.js';
import { NO_ENV_MODEL, useGateways } from '../testing/gateway-fixture.js';

const CONFIG = `models:
  - {name: main, model: m-1, base_url: "https://user:secret@api.example.org/v1/", api_key: sk-1, fallbacks: [spare]}
  - {name: spare, model: m-2, base_url: "https://other.example.org/v1", api_key: sk-2}
llm_call: {max_concurrent_calls: 4}
circuit_breaker: {failure_threshold: 2, recovery_timeout_sec: 60}
`;
const KEYS = { CARIBOU_API_KEYS: 'alice-key-1:alice,root-key-12:root:admin' };

describe('the states of models', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;
  let redis: RedisConnection;

  beforeAll(async () => {
    gateway = await fixture.open({ config: CONFIG, env: { ...NO_ENV_MODEL, ...KEYS } });
    redis = fixture.connectRedis();
  }, 60_000);

  const request = async (method: 'GET' | 'POST', path: string, key = 'root-key-12') => {
    const reply = await gateway.app.inject({ method, url: `/api/admin/models${path}`, headers: { 'x-api-key': key } });
    return { status: reply.statusCode, body: reply.json<Record<string, unknown>>() };
  };
  const list = async () => (await request('GET', '')).body['models'] as ModelState[];
  const endpoint = { provider: 'api.example.org/v1', model: 'm-1' };
  const fail = async () => {
    const gate = redisModelGate(redis, { failureThreshold: 2, recoveryMs: 60_000, maxConcurrentCalls: 4, knownMs: 0 });
    const entry = await gate.acquire(endpoint, { userId: 'alice', signal: AbortSignal.timeout(5_000) });
    if (entry.kind === 'admitted') await entry.permit.release('failed');
    return entry.kind;
  };

  test('are those of the configuration, without its secrets', async () => {
    const models = await list();

    expect(models).toEqual([
      {
        name: 'main',
        provider: 'api.example.org/v1',
        model: 'm-1',
        dialect: expect.any(String),
        circuit: { state: 'closed', failures: 0, retry_at: null },
        slots: { used: 0, limit: 4, waiting: 0 },
        fallbacks: ['spare'],
      },
      expect.objectContaining({ name: 'spare', fallbacks: [] }),
    ]);
    expect(JSON.stringify(models)).not.toContain('secret');
  });

  test('an open circuit is shown, and a reset closes it and is audited with its administrator', async () => {
    await fail();
    await fail();
    const [opened] = await list();
    expect(opened?.circuit).toMatchObject({ state: 'open', failures: 2 });
    expect(Date.parse(opened?.circuit.retry_at ?? '')).toBeGreaterThan(Date.now());
    expect(await fail()).toBe('refused');

    const { status, body } = await request('POST', '/main/circuit/reset');
    expect(status).toBe(200);
    expect(body).toMatchObject({ name: 'main', circuit: { state: 'closed', failures: 0, retry_at: null } });
    expect(await fail()).toBe('admitted');
    const lines = await redis.use((client) => client.xrange(redis.keys.audit, '-', '+'));
    expect(lines.map(([, [, line]]) => JSON.parse(line ?? '') as unknown)).toEqual([
      {
        at: expect.stringMatching(/^\d{4}-/),
        id: expect.any(String),
        operation: 'model.circuit.reset',
        what: 'main: m-1 at api.example.org/v1',
        verdict: 'ok',
        user_id: 'root',
        decided_by: 'root',
        decided_from: '127.0.0.1',
      },
    ]);
  });

  test('an unknown model is a 404 that changes nothing', async () => {
    const before = await redis.use((client) => client.xlen(redis.keys.audit));

    expect(await request('POST', '/else/circuit/reset')).toEqual({
      status: 404,
      body: { detail: 'there is no model "else"' },
    });
    expect(await redis.use((client) => client.xlen(redis.keys.audit))).toBe(before);
  });

  test('are for administrators', async () => {
    expect((await request('GET', '', 'alice-key-1')).status).toBe(403);
    expect((await request('POST', '/main/circuit/reset', 'alice-key-1')).status).toBe(403);
  });
});
