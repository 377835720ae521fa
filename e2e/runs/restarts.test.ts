import { transcriptFaults, waitFor } from '@caribou/testing';
import type { Message } from '@caribou/contracts';
import {
  type ApiClient,
  concatenateMessages,
  type Frame,
  lastValues,
  type OpenStream,
  runIdOf,
} from '../support/client.js';
import { nonce, type Stack, startStack } from '../support/stack.js';
import { linesOf, openGate } from '../support/threads-on-disk.js';

jest.setTimeout(90_000);

let stack: Stack;
let client: ApiClient;

beforeAll(async () => {
  stack = await startStack({ runners: 2 });
  client = stack.client();
});

afterAll(() => stack.stop());
afterEach(() => stack.model.reset());

const isWord = (word: string) => (frame: Frame) =>
  frame.event === 'messages' && JSON.stringify(frame.data).includes(word);

const SCRIPT = (word: string): string =>
  [
    word,
    '#tool bash {"description":"a test","command":"echo side-effect >> /mnt/user-data/workspace/ledger; echo ran"}',
    '#hold gate after 2 times=1',
    '#say One two three four.',
  ].join('\n');

async function startedRun(): Promise<{ threadId: string; script: string; stream: OpenStream }> {
  const threadId = await client.newThread();
  const script = SCRIPT(nonce());
  const stream = await client.run(threadId, script);
  await stream.waitFor('the second word', isWord('two'));
  return { threadId, script, stream };
}

async function expectWhole({ threadId, script, stream }: Awaited<ReturnType<typeof startedRun>>): Promise<void> {
  await waitFor(
    async () =>
      (await client.call<{ status: string }>('GET', `/threads/${threadId}/runs/${runIdOf(stream)}`)).body.status ===
      'success',
    { what: 'the run to succeed', timeoutMs: 40_000, everyMs: 100 },
  );
  const state = await client.call<{ values: { messages: Message[] } }>('GET', `/threads/${threadId}/state`);
  const { messages } = state.body.values;
  expect(messages.map((message) => message.content)).toEqual([script, '', 'ran\n', 'One two three four.']);
  expect(transcriptFaults(messages)).toEqual([]);
  expect(linesOf(stack, threadId, 'ledger')).toEqual(['side-effect']);
  const frames = await stream.end(40_000);
  expect(frames.filter((frame) => frame.event === 'end')).toHaveLength(1);
  expect(lastValues(frames)).toEqual(messages);
  const answers = messages.slice(1).map((message) => [message.id, message.content]);
  expect([...concatenateMessages(frames)]).toEqual(answers);
}

describe('kill -9 and restart of a server in mid-run', () => {
  test('nats-server: the run completes on its open stream', async () => {
    const run = await startedRun();

    await stack.nats.restart();
    stack.model.release('gate');

    await expectWhole(run);
  });

  test('nats-server, down while a command ends: the result is known before the server is back', async () => {
    const threadId = await client.newThread();
    const command = 'echo side-effect >> ledger; until [ -e go ]; do sleep 0.1; done; echo ran';
    const script = `#tool bash ${JSON.stringify({ description: 'a test', command })}\n#say Done.`;
    const stream = await client.run(threadId, script);
    await waitFor(() => linesOf(stack, threadId, 'ledger').length === 1, { what: 'the command to run' });

    await stack.nats.kill9();
    openGate(stack, threadId, 'go');

    const contents = async (): Promise<unknown[]> => {
      const { body } = await client.call<{ values: { messages: Message[] } }>('GET', `/threads/${threadId}/state`);
      return body.values.messages.map(({ content }) => content);
    };
    await waitFor(async () => (await contents()).includes('ran\n'), { what: 'the result', timeoutMs: 40_000 });
    await stack.nats.restart();
    expect((await stream.end(40_000)).filter((frame) => frame.event === 'end')).toHaveLength(1);
    expect(await contents()).toEqual([script, '', 'ran\n', 'Done.']);
    expect(linesOf(stack, threadId, 'ledger')).toEqual(['side-effect']);
  });

  test('redis-server: the run completes on its open stream', async () => {
    const run = await startedRun();

    await stack.redis.restart();
    stack.model.release('gate');

    await expectWhole(run);
  });

  test('both at once, while the model is streaming', async () => {
    const run = await startedRun();

    await Promise.all([stack.redis.kill9(), stack.nats.kill9()]);
    stack.model.release('gate');
    await Promise.all([stack.redis.restart(), stack.nats.restart()]);

    await expectWhole(run);
  });

  test('a turn after all that runs normally', async () => {
    const threadId = await client.newThread();

    const stream = await client.run(threadId, '#say Fine.');

    expect(lastValues(await stream.end()).map((message) => message.content)).toEqual(['#say Fine.', 'Fine.']);
  });
});
