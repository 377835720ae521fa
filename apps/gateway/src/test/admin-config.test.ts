import { callUsage } from '@caribou/core';
import { ledgerSettings, redisUsageLedger } from '@caribou/state';
import { type AdminClient, useAdmin } from '../testing/admin-client.js';

const CONFIG = `models:
  - {name: m1, base_url: "http://user:hunter22@127.0.0.1:1/v1", pricing: {input: 2, output: 8}}
usage: {user_budget_per_day: 0.01, key_budget_per_day: 0}
nonsense: {key: 1}
`;

let admin: AdminClient;
useAdmin(
  (client) => {
    admin = client;
  },
  { config: CONFIG },
);

describe('GET /admin/config', () => {
  test('shows the configuration without secrets, where it comes from, and what is wrong now', async () => {
    const { status, body } = await admin.send('GET', '/admin/config');

    expect(status).toBe(200);
    const text = JSON.stringify(body);
    for (const secret of ['hunter22', 'root-key-1', 'alice-key-1']) expect(text).not.toContain(secret);
    expect(body).toMatchObject({
      config: { usage: { userBudgetPerDay: 0.01 }, http: { apiKeys: [{ key: '[secret]', userId: 'root' }, {}, {}] } },
      sources: { usage: ['file'], http: ['environment'], clocks: ['default'] },
    });
    const findings = body['findings'] as readonly { level: string; topic: string; text: string; fix: string | null }[];
    // No runner and no sandbox-manager belong to this test.
    expect(findings.filter(({ level }) => level === 'fail').map(({ topic }) => topic)).toEqual(
      expect.arrayContaining(['agent-runner', 'sandbox']),
    );
    expect(findings).toContainEqual({
      ...{ level: 'warn', topic: 'config', fix: null },
      text: expect.stringContaining('nonsense') as unknown,
    });
    expect(findings).toContainEqual(expect.objectContaining({ level: 'warn', topic: 'durability' }));
    expect(findings).toContainEqual(expect.objectContaining({ level: 'ok', topic: 'access' }));
  });
});

describe('GET /admin/budgets', () => {
  test('shows what was used today, by users and keys', async () => {
    const pricing = { currency: 'USD', input: 2, cachedInput: 2, cacheWrite: 2, output: 8, reasoning: 8 };
    const budgets = { retentionDays: 90, userBudgetPerDay: 0.01, keyBudgetPerDay: 0, warnShare: 0.8 };
    const models = [{ name: 'm1', pricing }] as unknown as Parameters<typeof ledgerSettings>[1]['models'];
    const ledger = redisUsageLedger(admin.redis, ledgerSettings(admin.redis, { models, usage: budgets }));
    const usage = { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 };
    const call = callUsage({ caller: 'middleware', model: 'm1' }, usage);
    await ledger.add({ userId: 'alice', apiKey: 'k1' }, 'lead_agent', [call, call]);
    await ledger.add({ userId: 'bob', apiKey: 'k2' }, 'lead_agent', [call]);
    await ledger.add({ userId: 'bob' }, 'memory', [call]);
    await ledger.add({ userId: 'carol' }, 'memory', [call]);

    const { status, body } = await admin.send('GET', '/admin/budgets?limit=2');

    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...{ currency: 'USD', user_budget_per_day: 0.01, key_budget_per_day: 0, warn_share: 0.8, users: 3, cost: 0.014 },
      top_users: [
        { name: 'alice', cost: 0.0056 },
        { name: 'bob', cost: 0.0056 },
      ],
      top_keys: [
        { name: 'k1', cost: 0.0056, share: 1 },
        { name: 'k2', cost: 0.0028, share: 1 },
      ],
    });
    expect((body['top_users'] as { share: number }[])[0]?.share).toBeCloseTo(0.56);
    expect((await admin.send('GET', '/admin/budgets?limit=0')).status).toBe(422);
    expect((await admin.send('GET', '/admin/budgets?limit=101')).status).toBe(422);
  });
});
