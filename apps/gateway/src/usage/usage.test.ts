import { callUsage } from '@caribou/core';
import { ledgerSettings, redisUsageLedger, type UsageLedger } from '@caribou/state';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const CONFIG = `models:
  - {name: m1, base_url: "http://127.0.0.1:1/v1", pricing: {input: 2, output: 8}}
usage: {user_budget_per_day: 1, retention_days: 60}
`;
const pricing = { currency: 'USD', input: 2, cachedInput: 2, cacheWrite: 2, output: 8, reasoning: 8 };
const usage = { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 };

describe('GET /usage', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;
  let ledger: UsageLedger;

  beforeAll(async () => {
    const env = { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-123:bob:admin,carol-key-1:carol,dave-key-12:dave' };
    gateway = await fixture.open({
      config: CONFIG,
      env: { ...env, OPENAI_API_KEY: undefined, OPENAI_MODEL: undefined },
    });
    const redis = fixture.connectRedis();
    const budgets = { retentionDays: 90, userBudgetPerDay: 1, keyBudgetPerDay: null, warnShare: 0.8 };
    const models = [{ name: 'm1', pricing }] as unknown as Parameters<typeof ledgerSettings>[1]['models'];
    ledger = redisUsageLedger(redis, ledgerSettings(redis, { models, usage: budgets }));
    const call = (model: string) => callUsage({ caller: 'middleware', model }, usage);
    await ledger.add({ userId: 'alice', apiKey: 'k1' }, 'lead_agent', [call('m1'), call('m1')]);
    await ledger.add({ userId: 'alice' }, 'memory', [call('free')]);
    await ledger.add({ userId: 'carol' }, 'poet', [call('m1')]);
  }, 30_000);

  const ask = async (query: string, key = 'alice-key-1') => {
    const reply = await gateway.app.inject({ url: `/api/usage${query}`, headers: { 'x-api-key': key } });
    return { status: reply.statusCode, body: reply.json<Record<string, unknown>>() };
  };
  const counts = { input_tokens: 1_000, cached_input_tokens: 0, cache_write_tokens: 0, output_tokens: 100 };

  test('is the caller’s, by day, with totals', async () => {
    const { status, body } = await ask('');

    expect(status).toBe(200);
    expect(body).toMatchObject({ currency: 'USD', totals: { calls: 3, input_tokens: 3_000, cost: 0.0056 } });
    expect(body['series']).toEqual([expect.objectContaining({ day: body['to'], calls: 3, cost: 0.0056 })]);
  });

  test('is grouped by what is asked for', async () => {
    expect((await ask('?group=key,agent,model')).body['series']).toEqual([
      { key: null, agent: 'memory', model: 'free', calls: 1, ...counts, reasoning_tokens: 0, cost: 0 },
      expect.objectContaining({ key: 'k1', agent: 'lead_agent', model: 'm1', calls: 2, cost: 0.0056 }),
    ]);
  });

  test('60 days can be asked for, and the totals are those of the series', async () => {
    const { status, body } = await ask('?from=2026-01-01&to=2026-03-01');
    expect(status).toBe(200);
    expect(body).toMatchObject({ from: '2026-01-01', to: '2026-03-01', series: [], totals: { calls: 0, cost: 0 } });
  });

  test('administrators see one other user, or all', async () => {
    const all = await ask('?user=*&group=user', 'bob-key-123');
    expect(all.body['series']).toEqual([
      expect.objectContaining({ user: 'alice', calls: 3 }),
      expect.objectContaining({ user: 'carol', calls: 1 }),
    ]);
    expect((await ask('?user=carol', 'bob-key-123')).body).toMatchObject({ totals: { calls: 1 } });
    for (const user of ['*', 'carol'])
      expect(await ask(`?user=${user}`)).toEqual({
        status: 403,
        body: { detail: 'user: only administrators see the usage of others' },
      });
    expect((await ask('?user=alice')).status).toBe(200);
  });

  test.each([
    ['?from=yesterday', 'from: '],
    ['?to=2026-02-30', 'to: '],
    ['?group=colour', 'group.0: '],
    ['?group=', 'group.0: '],
    ['?group=day,day,day,day,day,day', 'group: '],
    ['?from=2026-03-02&to=2026-03-01', 'from: must not be after `to`'],
    ['?from=2026-01-01&to=2026-03-02', 'from, to: must be at most 60 days, as long as usage is stored'],
    ['?user=../bob', 'user: '],
    ['?key=k2', 'key'],
  ])('%s is refused', async (query, detail) => {
    const { status, body } = await ask(query);

    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain(detail);
  });

  test('a run over the budget is refused until the end of the day', async () => {
    await ledger.add({ userId: 'dave' }, 'lead_agent', [
      callUsage({ caller: 'lead_agent', model: 'm1' }, { ...usage, input_tokens: 500_000 }),
    ]);
    const reply = await gateway.app.inject({
      ...{ method: 'POST', url: '/api/runs', headers: { 'x-api-key': 'dave-key-12' } },
      payload: { assistant_id: 'lead_agent', input: { messages: [{ role: 'user', content: 'hi' }] } },
    });

    expect(reply.statusCode).toBe(429);
    expect(reply.json()).toEqual({
      detail: 'the budget of today for your account is used up: USD 1.0008 of 1 (usage.user_budget_per_day)',
    });
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(reply.headers['retry-after'])).toBeLessThanOrEqual(86_400);
  });
});
