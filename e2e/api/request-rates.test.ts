import { type Stack, startStack } from '../support/stack.js';

jest.setTimeout(90_000);

let stack: Stack;

beforeAll(async () => {
  const config = 'quotas:\n  requests_per_second: 1\n  request_burst: 80\n';
  stack = await startStack({ gateways: 2, runners: 0, managers: 0, config });
});

afterAll(() => stack.stop());

test('two gateways with the rights of their service accept together little more than one may', async () => {
  let accepted = 0;
  for (let request = 0; request < 160; request += 1) {
    const answer = await stack.client(request % 2).call('GET', '/models');
    if (answer.status === 429) {
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      break;
    }
    expect(answer.status).toBe(200);
    expect(answer.headers.get('ratelimit-policy')).toBe('"user";q=80;w=80');
    accepted += 1;
  }

  // Each gateway alone would accept 80. Seconds that pass and what is not reported yet come on top of the shared 80.
  expect(accepted).toBeGreaterThanOrEqual(72);
  expect(accepted).toBeLessThan(120);
});
