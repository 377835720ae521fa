import { resolve } from 'node:path';
import { lastValues } from '../support/client.js';
import { type Stack, startStack } from '../support/stack.js';

jest.setTimeout(90_000);

const EXAMPLE = resolve('examples/custom-model/ai-sdk.mjs');
const CONFIG = `models:
  - name: own
    use: ${EXAMPLE}#aiSdkModel
    model: caribou-demo
    base_url: $OPENAI_BASE_URL
    api_key: $OPENAI_API_KEY
    supports_thinking: true
`;

describe('a model in a module of the operator', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ config: CONFIG });
  });
  afterAll(() => stack.stop());

  test('answers in the services, with tool calls and usage', async () => {
    const client = stack.client();
    const threadId = await client.newThread();
    const script = 'nonce 71c2\n#think hm\n#tool bash {"command":"echo $((6*7))"}\n#say All done';

    const messages = lastValues(await (await client.run(threadId, script)).end());

    expect(messages.find(({ type }) => type === 'tool')?.content).toContain('42');
    expect(messages.at(-1)).toMatchObject({
      type: 'ai',
      content: 'All done',
      response_metadata: { model_name: 'caribou-demo', finish_reason: 'stop' },
      usage_metadata: { output_tokens: expect.any(Number) as number },
    });
    expect(messages.find(({ type }) => type === 'ai')?.additional_kwargs).toMatchObject({ reasoning_content: 'hm' });
  });
});
