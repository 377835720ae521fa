import { waitFor } from '@caribou/testing';
import { type ApiClient, type OpenStream, runIdOf } from '../support/client.js';
import { nonce, type Stack, startStack } from '../support/stack.js';
import { linesOf, openGate } from '../support/threads-on-disk.js';

jest.setTimeout(120_000);

let stack: Stack;
let client: ApiClient;

beforeAll(async () => {
  stack = await startStack({ gateways: 2, runners: 1 });
  client = stack.client();
});

afterAll(() => stack.stop());
afterEach(() => stack.model.reset());

const WAITING = JSON.stringify({
  description: 'waits',
  command: 'cd /mnt/user-data/workspace; echo begun >> begun; while [ ! -e open ]; do sleep 0.1; done; echo over',
});

const path = (threadId: string, runId: string, action = ''): string => `/threads/${threadId}/runs/${runId}${action}`;
const statusOf = async (threadId: string, runId: string): Promise<unknown> =>
  (await client.call('GET', path(threadId, runId))).body['status'];
const commandsOf = (threadId: string): readonly string[] => linesOf(stack, threadId, 'begun');

/** A run in the middle of a command. */
async function inCommand(): Promise<{ threadId: string; stream: OpenStream; runId: string; script: string }> {
  const threadId = await client.newThread();
  const script = `${nonce()}\n#tool bash ${WAITING}\n#say All done.`;
  const stream = await client.run(threadId, script);
  await waitFor(() => commandsOf(threadId).length > 0, { what: 'the command' });
  return { threadId, stream, runId: runIdOf(stream), script };
}

async function resumeAndWait(threadId: string, runId: string): Promise<string> {
  const resumed = await client.call<{ run_id: string }>('POST', path(threadId, runId, '/resume'));
  expect(resumed.status).toBe(200);
  const joined = await client.stream('GET', path(threadId, resumed.body.run_id, '/stream'));
  await joined.end(60_000);
  return resumed.body.run_id;
}

const contentsOf = async (threadId: string): Promise<unknown[]> =>
  (
    await client.call<{ values: { messages: { content: unknown }[] } }>('GET', `/threads/${threadId}/state`)
  ).body.values.messages.map(({ content }) => content);

test('a run is paused at its next step, at another gateway, and resumed with its settings', async () => {
  const { threadId, stream, runId, script } = await inCommand();

  const asked = await stack.client(1).call('POST', path(threadId, runId, '/pause'));
  expect(asked).toMatchObject({ status: 202, body: { run_id: runId, status: 'running' } });
  expect((await client.call('POST', path(threadId, runId, '/pause'))).status).toBe(409);
  expect((await client.call('POST', path(threadId, runId, '/resume'))).status).toBe(409);
  openGate(stack, threadId, 'open');

  const frames = await stream.end();
  expect(frames.at(-1)?.event).toBe('end');
  expect(frames.findLast(({ event }) => event === 'values')?.data).toMatchObject({
    __interrupt__: [{ value: { type: 'paused', run_id: runId } }],
  });
  expect(await contentsOf(threadId)).toEqual([script, '', 'over\n']);
  expect(await statusOf(threadId, runId)).toBe('interrupted');
  expect((await client.call('GET', `/threads/${threadId}`)).body).toMatchObject({ status: 'interrupted' });
  expect((await client.call('POST', path(threadId, runId, '/pause'))).status).toBe(409);

  const resumed = await resumeAndWait(threadId, runId);
  expect(await statusOf(threadId, resumed)).toBe('success');
  expect(await contentsOf(threadId)).toEqual([script, '', 'over\n', 'All done.']);
  expect(commandsOf(threadId)).toEqual(['begun']);
  expect((await client.call('POST', path(threadId, runId, '/resume'))).status).toBe(409);
});

test('the runner is killed after the request: the next one completes the command and pauses', async () => {
  const { threadId, stream, runId, script } = await inCommand();
  await client.call('POST', path(threadId, runId, '/pause'));
  await Promise.all(stack.runners.splice(0).map((runner) => runner.kill9()));
  stack.runners.push(await stack.start('agent-runner'));
  openGate(stack, threadId, 'open');

  await stream.end(60_000);
  expect(await statusOf(threadId, runId)).toBe('interrupted');
  expect(await statusOf(threadId, await resumeAndWait(threadId, runId))).toBe('success');
  expect(await contentsOf(threadId)).toEqual([script, '', 'over\n', 'All done.']);
  expect(commandsOf(threadId)).toEqual(['begun']);
});

test('a queued run that is paused commits its input when its turn comes, and can be resumed', async () => {
  const threadId = await client.newThread();
  const script = `${nonce()}\n#hold gate after 1\n#say First.`;
  const first = await client.run(threadId, script);
  await waitFor(() => stack.model.listHolds().length > 0, { what: 'the first answer' });
  const second = await client.run(threadId, '#say Second.', { multitask_strategy: 'enqueue' });
  expect((await client.call('POST', path(threadId, runIdOf(second), '/pause'))).status).toBe(202);
  stack.model.release('gate');

  await Promise.all([first.end(), second.end()]);
  expect(await statusOf(threadId, runIdOf(second))).toBe('interrupted');
  expect(await contentsOf(threadId)).toEqual([script, 'First.', '#say Second.']);
  expect(await statusOf(threadId, await resumeAndWait(threadId, runIdOf(second)))).toBe('success');
  expect(await contentsOf(threadId)).toEqual([script, 'First.', '#say Second.', 'Second.']);
});

test('unknown runs are 404', async () => {
  const threadId = await client.newThread();
  const unknown = path(threadId, '00000000-0000-4000-8000-000000000000');
  for (const action of ['/pause', '/resume']) expect((await client.call('POST', unknown + action)).status).toBe(404);
});
