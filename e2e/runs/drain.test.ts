import { transcriptFaults, waitFor } from '@caribou/testing';
import type { Message } from '@caribou/contracts';
import { type ApiClient, type Frame, lastValues, runIdOf } from '../support/client.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';
import { linesOf, openGate } from '../support/threads-on-disk.js';

jest.setTimeout(90_000);

let stack: Stack;
let client: ApiClient;

beforeAll(async () => {
  stack = await startStack();
  client = stack.client();
});

afterAll(() => stack.stop());
afterEach(() => stack.model.reset());

const tool = (command: string): string => `#tool bash ${JSON.stringify({ description: 'a test', command })}`;
const WAITING =
  'echo began >> /mnt/user-data/workspace/ledger; until [ -e /mnt/user-data/workspace/go ]; do sleep 0.05; done; echo went on';
const isWord = (word: string) => (frame: Frame) =>
  frame.event === 'messages' && JSON.stringify(frame.data).includes(word);

const messagesOf = async (threadId: string): Promise<readonly Message[]> =>
  (await client.call<{ values: { messages: Message[] } }>('GET', `/threads/${threadId}/state`)).body.values.messages;

describe('SIGTERM', () => {
  test('a runner finishes its step, releases the run for a takeover and exits with 0', async () => {
    const threadId = await client.newThread();
    const leaving = nth(stack.runners, 0);
    const script = `${nonce()}\n${tool(WAITING)}\n#say Done.`;
    const stream = await client.run(threadId, script);
    await waitFor(() => linesOf(stack, threadId, 'ledger').length === 1, {
      what: 'the command to start',
    });
    stack.runners.push(await stack.start('agent-runner'));

    const exit = leaving.terminate(20_000);
    openGate(stack, threadId, 'go');

    expect(await exit).toEqual({ code: 0, signal: null });
    const frames = await stream.end();
    expect(lastValues(frames).map((message) => message.content)).toEqual([script, '', 'went on\n', 'Done.']);
    expect(
      frames.filter((frame) => frame.event === 'metadata').map((frame) => (frame.data as { attempt: number }).attempt),
    ).toEqual([1, 2]);
    expect(linesOf(stack, threadId, 'ledger')).toEqual(['began']);
  });

  test('every service exits with 0', async () => {
    const apps = ['gateway', 'agent-runner', 'sandbox-manager', 'memory-worker', 'subagent-pool'] as const;
    const services = await Promise.all(apps.map((app) => stack.start(app)));

    const exits = await Promise.all(services.map((service) => service.terminate(15_000)));

    expect(exits).toEqual(apps.map(() => ({ code: 0, signal: null })));
  });
});

describe('kill -9 of the sandbox-manager', () => {
  test('in a command: the transcript reports an unknown outcome, the command is ended, and the next one works', async () => {
    const threadId = await client.newThread();
    const script = `${nonce()}\n${tool(WAITING)}\n${tool('echo next >> /mnt/user-data/workspace/ledger; echo fine')}\n#say Done.`;
    const stream = await client.run(threadId, script);
    await waitFor(() => linesOf(stack, threadId, 'ledger').length === 1, {
      what: 'the command to start',
    });

    await nth(stack.managers, 0).kill9();
    stack.managers[0] = await stack.start('sandbox-manager');
    const frames = await stream.end(60_000);

    const results = lastValues(frames).filter((message) => message.type === 'tool');
    expect(results.map((message) => message.status)).toEqual(['error', 'success']);
    expect(String(results[0]?.content)).toMatch(/outcome.*(unknown|not known)/i);
    expect(results[1]?.content).toBe('fine\n');
    expect(linesOf(stack, threadId, 'ledger')).toEqual(['began', 'next']);
    expect(transcriptFaults(await messagesOf(threadId))).toEqual([]);
    expect((await client.call('GET', `/threads/${threadId}/runs/${runIdOf(stream)}`)).body).toMatchObject({
      status: 'success',
    });
  });

  test('between two turns: the next manager has the files', async () => {
    const threadId = await client.newThread();
    await (await client.run(threadId, `${tool('echo kept > /mnt/user-data/workspace/note')}\n#say Written.`)).end();

    await nth(stack.managers, 0).kill9();
    stack.managers[0] = await stack.start('sandbox-manager');
    const frames = await (await client.run(threadId, `${tool('cat /mnt/user-data/workspace/note')}\n#say Read.`)).end(
      40_000,
    );

    expect(lastValues(frames).at(-2)?.content).toBe('kept\n');
  });

  test('two managers: a thread stays with the one that has its sandbox', async () => {
    stack.managers.push(await stack.start('sandbox-manager'));
    const threadId = await client.newThread();
    const script = [1, 2, 3, 4].map((index) => tool(`echo ${index} >> /mnt/user-data/workspace/ledger`)).join('\n');

    const stream = await client.run(threadId, `${script}\n#say Done.`);
    await stream.waitFor('the answer', isWord('Done'));
    await stream.end();

    expect(linesOf(stack, threadId, 'ledger')).toEqual(['1', '2', '3', '4']);
  });
});
