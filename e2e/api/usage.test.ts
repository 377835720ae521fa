import { waitFor } from '@caribou/testing';
import { ApiClient } from '../support/client.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';
import { taskLine, WITH_SUBAGENTS } from '../support/task-client.js';

jest.setTimeout(120_000);

const CONFIG = `models:
  - name: large
    model: demo-large
    pricing: {input: 2, output: 8}
memory:
  debounce_seconds: 1
`;

let stack: Stack;

beforeAll(async () => {
  const env = { CARIBOU_API_KEYS: 'alice-key-1:alice,root-key-12:root:admin' };
  stack = await startStack({ pools: 1, config: CONFIG, env });
  await stack.start('memory-worker');
});
afterAll(() => stack.stop());

interface Row {
  readonly agent?: string;
  readonly user?: string;
  readonly calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost: number;
}

const clientFor = (key: string): ApiClient =>
  new ApiClient(`http://127.0.0.1:${nth(stack.gateways, 0).healthPort}/api`, { 'x-api-key': key });

const rowsOf = async (client: ApiClient, query: string): Promise<readonly Row[]> =>
  (await client.call<{ series: readonly Row[] }>('GET', `/usage?${query}`)).body.series;

const callsByAgent = async (client: ApiClient): Promise<Readonly<Record<string, number>>> =>
  Object.fromEntries((await rowsOf(client, 'group=agent')).map(({ agent = '', calls }) => [agent, calls]));

test('usage has each call of runs, tasks, suggestions and memory once, over the death of a runner', async () => {
  const client = clientFor('alice-key-1');
  const threadId = await client.newThread();
  const gate = `u${nonce().slice(6)}`;
  const script = [taskLine('#say found'), `#hold ${gate} before`, '#say Done.'].join('\n');
  const stream = await client.run(threadId, script, WITH_SUBAGENTS);
  await waitFor(() => stack.model.listHolds().some(({ name }) => name === gate), { what: 'the model to hold' });
  await nth(stack.runners, 0).kill9();
  stack.runners.unshift(await stack.start('agent-runner'));
  await waitFor(() => stack.model.listHolds().filter(({ name }) => name === gate).length > 0, { what: 'the takeover' });
  stack.model.release(gate);
  await stream.end(60_000);
  const messages = [{ role: 'user', content: 'What now?' }];
  await client.call('POST', `/threads/${threadId}/suggestions`, { messages, n: 1 });
  await waitFor(async () => 'memory' in (await callsByAgent(client)), { what: 'the extraction' });

  expect(await callsByAgent(client)).toEqual({ 'general-purpose': 1, lead_agent: 2, memory: 1, suggestions: 1 });
  for (const { cost, input_tokens: input, output_tokens: output } of await rowsOf(client, 'group=agent,model'))
    expect(cost).toBeCloseTo((2 * input + 8 * output) / 1e6, 9);
  expect(await rowsOf(clientFor('root-key-12'), 'user=*&group=user')).toMatchObject([{ user: 'alice', calls: 5 }]);
});
