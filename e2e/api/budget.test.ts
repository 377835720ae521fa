import type { FleetReply } from '@caribou/contracts';
import { type TestService, waitFor } from '@caribou/testing';
import { runBody, runIdOf } from '../support/client.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(120_000);

/** What a day may cost; each call of the scripts costs 1. */
const BUDGET = 4;
const RUNS = 6;
const CONFIG = `models:
  - name: large
    model: demo-large
    pricing: {input: 1}
usage: {user_budget_per_day: ${BUDGET}}
memory: {enabled: false}
`;

let stack: Stack;
let answered = 0;

beforeAll(async () => {
  const onAnswered = (): void => void (answered += 1);
  stack = await startStack({ runners: 2, config: CONFIG, model: { onAnswered } });
});
afterAll(() => stack.stop());

/** A runner that executes runs: one of the two may have taken all of them. */
async function busyRunner(): Promise<TestService | undefined> {
  const { processes } = (await stack.client().call<FleetReply>('GET', '/admin/fleet')).body;
  const busy = processes.find(({ service, slots }) => service === 'agent-runner' && slots.some(({ used }) => used > 0));
  return stack.runners.find(({ pid }) => pid === busy?.pid);
}

const COSTS_1 = '#usage 1000000 0';
const look = `#tool bash ${JSON.stringify({ description: 'a test', command: 'echo hi' })}`;

test('a budget is exceeded by at most the calls under way, over two runners, one of which dies', async () => {
  const client = stack.client();
  const gate = `b${nonce().slice(6)}`;
  const script = [`#hold ${gate} before`, COSTS_1, look, COSTS_1, look, COSTS_1, look, '#say not reached'].join('\n');
  const holds = (): number => stack.model.listHolds().filter(({ name }) => name === gate).length;
  const threads = await Promise.all(Array.from({ length: RUNS }, () => client.newThread()));
  const streams = await Promise.all(threads.map((threadId) => client.run(threadId, script)));
  await waitFor(() => holds() === RUNS, { what: 'all runs to call the model' });
  await (await waitFor(busyRunner, { what: 'a runner with runs' })).kill9();
  await waitFor(() => holds() < RUNS, { what: 'the calls of the dead runner to end' });
  await waitFor(() => holds() === RUNS, { what: 'the takeover' });
  expect(answered).toBe(0);

  stack.model.release(gate);
  await Promise.all(streams.map((stream) => stream.end(60_000)));

  const runs = await Promise.all(
    streams.map(async (stream, index) => {
      const path = `/threads/${nth(threads, index)}/runs/${runIdOf(stream)}`;
      return (await client.call<{ status: string; stop_reason: string }>('GET', path)).body;
    }),
  );
  for (const run of runs) expect(run).toMatchObject({ status: 'success', stop_reason: 'budget' });
  const { totals } = (await client.call<{ totals: { calls: number; cost: number } }>('GET', '/usage')).body;
  expect(totals.calls).toBe(answered);
  expect(totals.cost).toBeGreaterThanOrEqual(BUDGET);
  // The call that reaches the budget is no longer under way; the other runs may have one each.
  expect(totals.cost).toBeLessThanOrEqual(BUDGET + RUNS - 1);

  const refused = await client.call('POST', `/threads/${nth(threads, 0)}/runs`, runBody('#say no'));
  expect(refused.status).toBe(429);
  expect(JSON.stringify(refused.body)).toContain('usage.user_budget_per_day');
});
