import { ApiClient, runBody } from '../support/client.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';
import { taskLine } from '../support/task-client.js';

jest.setTimeout(120_000);

const CONFIG = `models:
  - name: large
    model: demo-large
    temperature: 0.9
    max_tokens: 500
    supports_reasoning_effort: true
title: {model_name: large}
memory: {enabled: false}
`;

let stack: Stack;
let api: ApiClient;

beforeAll(async () => {
  stack = await startStack({ pools: 1, config: CONFIG });
  api = new ApiClient(`http://127.0.0.1:${nth(stack.gateways, 0).healthPort}/api`);
});
afterAll(() => stack.stop());

interface Sent {
  readonly temperature?: number;
  readonly max_tokens?: number;
  readonly reasoning_effort?: string;
  readonly tools?: unknown;
}

/** Takes a turn, and returns what the model server received of it. */
async function sentFor(options: Readonly<Record<string, unknown>>, script = '#say Hi.'): Promise<readonly Sent[]> {
  const word = nonce();
  const client = stack.client();
  const stream = await client.run(await client.newThread(), `${word}\n${script}`, options);
  await stream.end();
  return stack.model.requests(word).map(({ body }) => body as Sent);
}

const answersOf = (sent: readonly Sent[]): readonly Sent[] => sent.filter(({ tools }) => tools !== undefined);

describe('temperature and max_tokens of a run', () => {
  test('replace the configured ones, from context or config.configurable; the configured limit still applies', async () => {
    expect(answersOf(await sentFor({}))).toMatchObject([{ temperature: 0.9, max_tokens: 500 }]);
    const context = { temperature: 0, max_tokens: 200, reasoning_effort: 'low' };
    expect(answersOf(await sentFor({ context }))).toMatchObject([context]);
    const configurable = { temperature: 1.5, max_tokens: 9_000 };
    expect(answersOf(await sentFor({ config: { configurable } }))).toMatchObject([
      { temperature: 1.5, max_tokens: 500 },
    ]);
    const both = { config: { configurable }, context: { temperature: 0.1 } };
    expect(answersOf(await sentFor(both))).toMatchObject([{ temperature: 0.1 }]);
  });

  test('are not those of titles', async () => {
    const sent = await sentFor({ context: { temperature: 0, max_tokens: 7 } });
    const titles = sent.filter(({ tools }) => tools === undefined);
    expect(titles).toMatchObject([{ temperature: 0.9, max_tokens: 500 }]);
  });

  test('replace those of the agent; its settings of thinking replace those of the run', async () => {
    const settings = { temperature: 0.3, max_tokens: 300 };
    const agent = { name: 'cool', soul: '', model_settings: settings, reasoning_effort: 'high' };
    const { status } = await api.call('POST', '/agents', agent);
    expect(status).toBe(201);

    expect(answersOf(await sentFor({ assistant_id: 'cool' }))).toMatchObject([
      { ...settings, reasoning_effort: 'high' },
    ]);
    const context = { temperature: 0.7, reasoning_effort: 'low' };
    expect(answersOf(await sentFor({ assistant_id: 'cool', context }))).toMatchObject([
      { temperature: 0.7, max_tokens: 300, reasoning_effort: 'high' },
    ]);
  });

  test('subagents have the temperature, and not the limit, which is one of the answers to the user', async () => {
    const word = nonce();
    const context = { subagent_enabled: true, temperature: 0.2, max_tokens: 150 };
    await sentFor({ context }, `${taskLine(`${word}\n#say found`)}\n#say Done.`);

    const sent = stack.model.requests(word).map(({ body }) => body as Sent & { readonly messages: unknown });
    const ofTask = sent.filter(({ messages }) => !JSON.stringify(messages).includes('#tool task'));
    expect(ofTask).toMatchObject([{ temperature: 0.2, max_tokens: 500 }]);
  });

  test.each([
    [{ context: { temperature: 3 } }, 'temperature: must be a number from 0 to 2'],
    [{ context: { max_tokens: 0 } }, 'max_tokens: must be a whole number from 1 to 1000000'],
    [{ config: { configurable: { temperature: 'warm' } } }, 'temperature: must be a number from 0 to 2'],
  ])('%j is refused, and names field and limit', async (options, detail) => {
    const client = stack.client();
    const threadId = await client.newThread();
    const { status, body } = await client.call('POST', `/threads/${threadId}/runs`, runBody('#say no', options));
    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain(detail);
  });
});
