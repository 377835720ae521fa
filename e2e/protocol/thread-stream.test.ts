import { randomUUID } from 'node:crypto';
import { type Stack, startStack } from '../support/stack.js';
import { TwoGateways } from './two-gateways.js';

jest.setTimeout(60_000);

let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ gateways: 2, runners: 2, pools: 1 });
});

afterAll(() => stack.stop());

describe.each(['sse', 'websocket'] as const)('client.threads.stream() over %s', (transport) => {
  const open = (gateways: TwoGateways, threadId = randomUUID()) => {
    const options = { assistantId: 'lead_agent', transport, fetch: gateways.fetch };
    return gateways
      .client()
      .threads.stream(threadId, { ...options, ...(transport === 'websocket' ? { webSocketFactory: gateways.openSocket } : {}) });
  };
  const human = (content: string) => ({ messages: [{ type: 'human', content }] });

  test('starts a run on a new thread and streams its messages, values, tool calls and end', async () => {
    const thread = open(new TwoGateways(stack));
    const texts: string[] = [];
    const reading = (async () => {
      for await (const message of thread.messages) texts.push(await message.text);
    })();
    const script = '#say Looking.\n#+tool bash {"description":"greet","command":"echo hi there"}\n#say It says hi.';
    const { run_id: runId } = await thread.run.start({ input: human(script) });
    expect(runId).toMatch(/^[0-9a-f-]{36}$/);
    const values = (await thread.output) as { messages: { content: unknown }[] };
    expect(values.messages.map(({ content }) => content)).toEqual([script, 'Looking.', 'hi there\n', 'It says hi.']);
    await reading;
    expect(texts).toEqual(['Looking.', 'It says hi.']);
    await thread.close();
  });
});
