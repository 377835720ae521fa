import { readdirSync, readFileSync } from 'node:fs';
import { waitFor } from '@caribou/testing';
import { type ApiClient, type Frame, lastValues, runIdOf } from '../support/client.js';
import { nonce, type Stack, startStack } from '../support/stack.js';
import { linesOf } from '../support/threads-on-disk.js';

/** The guarantee of the README: by then all work of the run has ended. The time begins when the cancel was accepted. */
const CANCEL_MS = 5_000;

let stack: Stack;
let client: ApiClient;

beforeAll(async () => {
  stack = await startStack();
  client = stack.client();
});

afterAll(() => stack.stop());
afterEach(() => stack.model.reset());

const isWord = (word: string) => (frame: Frame) =>
  frame.event === 'messages' && JSON.stringify(frame.data).includes(word);

/** Whether a live (not zombie) process of this machine has the text in its command line. */
function isRunning(text: string): boolean {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        const live = !/^\S+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
        return live && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        return false; // The process has just ended.
      }
    });
}

const cancel = (threadId: string, runId: string, wait: 0 | 1) =>
  client.call('POST', `/threads/${threadId}/runs/${runId}/cancel?wait=${wait}`);

async function expectNextRunWorks(threadId: string): Promise<void> {
  const next = await client.run(threadId, '#say Next.');
  const frames = await next.end();
  expect(lastValues(frames).at(-1)?.content).toBe('Next.');
  expect(frames.at(-1)?.event).toBe('end');
}

describe('cancel', () => {
  test('in a model call: the request to the model is closed and the next run works', async () => {
    const threadId = await client.newThread();
    const word = nonce();
    const stream = await client.run(threadId, `${word}\n#hold gate after 1\n#say One two.`);
    await stream.waitFor('a word', isWord('One'));

    expect((await cancel(threadId, runIdOf(stream), 0)).status).toBe(202);
    await waitFor(() => stack.model.requests(word)[0]?.closedByClient === true, {
      what: 'the model request to be closed',
      timeoutMs: CANCEL_MS,
    });
    expect((await cancel(threadId, runIdOf(stream), 1)).status).toBe(204);

    expect((await stream.end()).at(-1)?.event).toBe('end');
    await expectNextRunWorks(threadId);
  });

  test('in a running command: its processes are ended and the next run works', async () => {
    const threadId = await client.newThread();
    const seconds = String(100_000 + Math.floor(Math.random() * 800_000));
    const command = `touch /mnt/user-data/workspace/started; echo yes > /mnt/user-data/workspace/started; setsid sleep ${seconds} & sleep ${seconds}`;
    const stream = await client.run(
      threadId,
      `#tool bash ${JSON.stringify({ description: 'waits', command })}\n#say Never.`,
    );
    await waitFor(() => linesOf(stack, threadId, 'started').length === 1 && isRunning(`sleep\0${seconds}`), {
      what: 'the command to run',
    });

    expect((await cancel(threadId, runIdOf(stream), 0)).status).toBe(202);
    await waitFor(() => !isRunning(`sleep\0${seconds}`), { what: 'the processes to end', timeoutMs: CANCEL_MS });
    expect((await cancel(threadId, runIdOf(stream), 1)).status).toBe(204);

    expect((await client.call('GET', `/threads/${threadId}/runs/${runIdOf(stream)}`)).body).toMatchObject({
      status: 'interrupted',
    });
    await expectNextRunWorks(threadId);
  });

  test('twice, of a finished run, of an unknown run', async () => {
    const threadId = await client.newThread();
    const stream = await client.run(threadId, '#say Done.');
    await stream.end();
    const path = `/threads/${threadId}/runs/${runIdOf(stream)}`;

    const statuses = await Promise.all([
      client.call('POST', `${path}/cancel?wait=0`),
      client.call('POST', `${path}/cancel?wait=1`),
      client.call('POST', `/threads/${threadId}/runs/00000000-0000-4000-8000-000000000000/cancel`),
    ]);

    expect(statuses.map(({ status }) => (status < 300 ? 'accepted' : status))).toEqual(['accepted', 'accepted', 404]);
    expect((await client.call('GET', path)).body).toMatchObject({ status: 'success' });
  });

  test('of a command whose runner died: the next runner ends the command, and the next turn need not wait for it', async () => {
    const threadId = await client.newThread();
    const seconds = String(100_000 + Math.floor(Math.random() * 800_000));
    const command = JSON.stringify({ description: 'waits', command: `echo yes > started; sleep ${seconds}` });
    const stream = await client.run(threadId, `#tool bash ${command}\n#say Never.`);
    await waitFor(() => linesOf(stack, threadId, 'started').length === 1 && isRunning(`sleep\0${seconds}`), {
      what: 'the command to run',
    });
    await stack.runners[0]?.kill9();

    await client.call('POST', `/threads/${threadId}/runs/${runIdOf(stream)}/cancel?wait=0`);
    stack.runners[0] = await stack.start('agent-runner');

    expect((await stream.end()).at(-1)?.event).toBe('end');
    // No separate time is guaranteed here: the runner that takes over the run ends the command.
    await waitFor(() => !isRunning(`sleep\0${seconds}`), { what: 'the processes to end' });
    const next = await client.run(threadId, '#tool bash {"description":"a test","command":"echo again"}\n#say Next.');
    expect(lastValues(await next.end()).map(({ content }) => content)).toEqual(
      expect.arrayContaining(['again\n', 'Next.']),
    );
  });

  test('of a run whose runner died: the next runner ends it without running it', async () => {
    const threadId = await client.newThread();
    const word = nonce();
    const stream = await client.run(threadId, `${word}\n#hold gate after 1\n#say One two.`);
    await stream.waitFor('a word', isWord('One'));
    await stack.runners[0]?.kill9();

    await client.call('POST', `/threads/${threadId}/runs/${runIdOf(stream)}/cancel?wait=0`);
    stack.runners[0] = await stack.start('agent-runner');

    expect((await stream.end()).at(-1)?.event).toBe('end');
    expect((await client.call('GET', `/threads/${threadId}/runs/${runIdOf(stream)}`)).body).toMatchObject({
      status: 'interrupted',
    });
    expect(stack.model.requests(word)).toHaveLength(1);
    await expectNextRunWorks(threadId);
  });
});
