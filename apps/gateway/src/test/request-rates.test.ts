import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const CONFIG = `quotas:
  requests_per_second: 1
  request_burst: 20
  key_requests_per_second: 1
  key_request_burst: 10
`;
const KEYS_OF_ANN = ['ann-key-1', 'ann-key-2', 'ann-key-3', 'ann-key-4', 'ann-key-5'];
const API_KEYS = [...KEYS_OF_ANN.map((key) => `${key}:ann`), 'bob-key-1:bob'].join(',');

const fixture = useGateways({ appendonly: false });
const gateways: OpenGateway[] = [];

beforeAll(async () => {
  const options = { config: CONFIG, env: { CARIBOU_API_KEYS: API_KEYS } };
  gateways.push(await fixture.open(options), await fixture.open(options));
}, 30_000);

async function ask(gateway: number, key: string) {
  const url = '/api/models';
  const answer = await gateways[gateway]?.app.inject({ method: 'GET', url, headers: { 'x-api-key': key } });
  if (answer === undefined) throw new Error('no such gateway');
  return answer;
}

describe('the rate of requests', () => {
  test('is counted for each API key, and the headers of each answer say what is left', async () => {
    const first = await ask(0, 'bob-key-1');
    expect(first.statusCode).toBe(200);
    expect(first.headers['ratelimit-policy']).toBe('"user";q=20;w=20, "key";q=10;w=10');
    expect(first.headers['ratelimit']).toBe('"user";r=19;t=1, "key";r=9;t=1');

    const answers = await Promise.all(Array.from({ length: 12 }, () => ask(0, 'bob-key-1')));
    const refused = answers.find(({ statusCode }) => statusCode === 429);
    expect(refused?.json<{ detail: string }>().detail).toContain('1 requests per second with one API key');
    expect(refused?.headers['ratelimit']).toMatch(/^"user";r=\d+;t=\d+, "key";r=[01];t=\d+$/);
    expect(refused?.headers['retry-after']).toBe('1');

    await waitFor(async () => (await ask(0, 'bob-key-1')).statusCode === 200, { what: 'the next token' });
  }, 20_000);

  test('is one for all keys of a user at all gateways', async () => {
    const keys = KEYS_OF_ANN.flatMap((key) => Array.from({ length: 8 }, () => key));
    let accepted = 0;
    for (const [index, key] of keys.entries()) {
      if ((await ask(index % 2, key)).statusCode === 429) break;
      // A request that is injected leaves the event loop no turn in which replies of Redis arrive.
      await sleep(10);
      accepted += 1;
    }
    expect(accepted).toBeGreaterThanOrEqual(18);
    expect(accepted).toBeLessThan(32);
    await waitFor(async () => (await ask(1, 'ann-key-5')).statusCode === 429, { what: 'a refusal at the other' });
  }, 30_000);

  test('is not a reason to refuse while Redis does not answer', async () => {
    fixture.redis.pause();
    try {
      await waitFor(async () => (await ask(1, 'bob-key-1')).statusCode === 200, { what: 'an accepted request' });
    } finally {
      fixture.redis.resume();
    }
  }, 20_000);
});
