import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Message } from '@caribou/contracts';
import {
  startProxy,
  type TestProxy,
  type TestService,
  transcriptFaults,
  waitFor,
  waitForOutput,
} from '@caribou/testing';
import {
  type ApiClient,
  concatenateMessages,
  type Frame,
  lastValues,
  type OpenStream,
  runIdOf,
  type WireMessage,
} from '../support/client.js';
import { nonce, type Stack, startStack } from '../support/stack.js';
import { linesOf, openGate } from '../support/threads-on-disk.js';

jest.setTimeout(90_000);

let stack: Stack;
let client: ApiClient;
let redisProxy: TestProxy;
let natsProxy: TestProxy;
let victim: TestService;
let rescuer: TestService | undefined;

beforeAll(async () => {
  stack = await startStack({ runners: 0, model: { constantCallId: 'call_0' } });
  client = stack.client();
});

afterAll(() => stack.stop());

/** The runner that will be killed is the only one at first, and reaches Redis and NATS through proxies. */
beforeEach(async () => {
  [redisProxy, natsProxy] = await Promise.all([
    startProxy({ target: stack.redis.port }),
    startProxy({ target: stack.nats.port }),
  ]);
  victim = await stack.start('agent-runner', {
    REDIS_URL: stack.urlOf('agent-runner', 'redis', redisProxy.port),
    NATS_URL: stack.urlOf('agent-runner', 'nats', natsProxy.port),
  });
  rescuer = undefined;
});

afterEach(async () => {
  await Promise.all([victim.kill9(), rescuer?.kill9()]);
  await Promise.all([redisProxy.stop(), natsProxy.stop()]);
  stack.model.reset();
});

const command = (text: string): string => JSON.stringify({ description: 'a test', command: text });
const LEDGER = command('echo side-effect >> /mnt/user-data/workspace/ledger; echo tool-output-7f3');

const bytes = (text: string) => (seen: Buffer) => seen.includes(text);

/** Kills the victim at a point that was reached, before it can notice the hold; another runner takes over. */
async function killVictim(): Promise<void> {
  await victim.kill9();
  rescuer = await stack.start('agent-runner');
}

interface Expected {
  readonly texts: readonly unknown[];
  readonly attempt?: number;
  readonly ledger?: number;
}

/**
 * The open stream ends once, and stream, state and disk agree, with everything once. A stream contains
 * the deltas of its own run only.
 */
async function expectWhole(
  threadId: string,
  stream: OpenStream,
  { texts, attempt = 2, ledger = 0 }: Expected,
): Promise<void> {
  const frames = await stream.end(60_000);
  expect(stream.broke).toBe(false);
  expect(frames.filter((frame) => frame.event === 'end')).toHaveLength(1);
  expect(frames.at(-1)?.event).toBe('end');
  expect(frames.filter((frame) => frame.event === 'error')).toEqual([]);
  const messages = lastValues(frames);
  expect(messages.map((message) => message.content)).toEqual(texts);
  expect(new Set(messages.map((message) => message.id)).size).toBe(messages.length);
  expectDeltasMatch(frames, messages);

  const state = await client.call<{ values: { messages: Message[]; title: string }; next: string[] }>(
    'GET',
    `/threads/${threadId}/state`,
  );
  expect(state.body.values.messages).toEqual(messages);
  expect(state.body.values.title).toEqual(expect.any(String));
  expect(state.body.next).toEqual([]);
  expect(transcriptFaults(state.body.values.messages)).toEqual([]);
  const run = await client.call('GET', `/threads/${threadId}/runs/${runIdOf(stream)}`);
  expect(run.body).toMatchObject({ status: 'success' });
  expect(lastAttempt(frames)).toBe(attempt);
  expect(linesOf(stack, threadId, 'ledger')).toHaveLength(ledger);

  const replay = await client.stream('GET', `/threads/${threadId}/runs/${runIdOf(stream)}/stream`, undefined, {
    'last-event-id': '-1',
  });
  expectDeltasMatch(await replay.end(), messages);
}

function expectDeltasMatch(frames: readonly Frame[], messages: readonly WireMessage[]): void {
  const own = messages.slice(messages.findLastIndex((message) => message.type === 'human') + 1);
  expect([...concatenateMessages(frames)]).toEqual(own.map((message) => [message.id, message.content]));
}

const lastAttempt = (frames: readonly Frame[]): unknown =>
  (frames.findLast((frame) => frame.event === 'metadata')?.data as { attempt?: number } | undefined)?.attempt;

const heldAt = (gate: string) =>
  waitFor(() => stack.model.listHolds().some((hold) => hold.name === gate), {
    what: `the model to hold at ${gate}`,
  });

describe('kill -9 of the runner', () => {
  test('before the first token: the other one calls the model again', async () => {
    const threadId = await client.newThread();
    const script = `${nonce()}\n#hold gate before times=1\n#say The answer.`;
    const stream = await client.run(threadId, script);
    await heldAt('gate');

    await killVictim();

    await expectWhole(threadId, stream, { texts: [script, 'The answer.'] });
  });

  test('in mid-stream: the streamed message is dropped by name and streamed again under another id', async () => {
    const threadId = await client.newThread();
    const script = `${nonce()}\n#hold gate after 2 times=1\n#say One two three four.`;
    const stream = await client.run(threadId, script);
    const first = await stream.waitFor(
      'the second word',
      (frame) => frame.event === 'messages' && JSON.stringify(frame.data).includes('two'),
    );
    const [chunk] = first.data as [WireMessage];

    await killVictim();

    await expectWhole(threadId, stream, { texts: [script, 'One two three four.'] });
    const restart = stream.frames.findLast((frame) => frame.event === 'metadata');
    expect(restart?.data).toMatchObject({ attempt: 2, dropped_message_ids: [chunk.id] });
  });

  test('while its goal is judged: the answer remains, and the agent continues for the goal once', async () => {
    const threadId = await client.newThread();
    const goal = `/threads/${threadId}/goal`;
    await client.call('PUT', goal, { objective: `${nonce()} goal-needs:END goal-hold:verdict` });
    const script = `${nonce()}\n#say First.\n#say The END.`;
    const stream = await client.run(threadId, script);
    await heldAt('verdict');

    await killVictim();
    stack.model.release('verdict');

    const frames = await stream.end(60_000);
    expect(frames.filter(({ event }) => event === 'end' || event === 'error').map(({ event }) => event)).toEqual([
      'end',
    ]);
    expect(lastAttempt(frames)).toBe(2);
    expect(lastValues(frames).map(({ type, content }) => [type, content])).toEqual([
      ['human', script],
      ['ai', 'First.'],
      ['human', expect.stringMatching(/^<goal_continuation>\n[^]*<\/goal_continuation>$/)],
      ['ai', 'The END.'],
    ]);
    expect((await client.call('GET', goal)).body).toEqual({ goal: null });
    expect((await client.call('GET', `/threads/${threadId}/runs/${runIdOf(stream)}`)).body).toMatchObject({
      status: 'success',
    });
  });

  test('in a tool call: the command continues and its one result is used', async () => {
    const threadId = await client.newThread();
    const waiting = command(
      'echo side-effect >> /mnt/user-data/workspace/ledger; touch /mnt/user-data/workspace/started; until [ -e /mnt/user-data/workspace/go ]; do sleep 0.05; done; echo went on',
    );
    const script = `#tool bash ${waiting}\n#say Done.`;
    const stream = await client.run(threadId, script);
    await waitFor(() => linesOf(stack, threadId, 'ledger').length === 1, {
      what: 'the command to start',
    });

    await killVictim();
    openGate(stack, threadId, 'go');

    await expectWhole(threadId, stream, { texts: [script, '', 'went on\n', 'Done.'], ledger: 1 });
  });

  test.each([
    { point: 'before Redis saw the commit', direction: 'request' as const },
    { point: 'when Redis had committed but not answered', direction: 'reply' as const },
  ])('after the tool, $point: the stored result is used', async ({ direction }) => {
    const threadId = await client.newThread();
    const script = `${nonce()}\n#tool bash ${LEDGER}\n#say Done.`;
    const commit = redisProxy.hold(direction, { bytes: bytes('tool-output-7f3\\n'), in: 'request' });
    const stream = await client.run(threadId, script);
    await commit.reached;

    await killVictim();
    commit.release();

    await expectWhole(threadId, stream, { texts: [script, '', 'tool-output-7f3\n', 'Done.'], ledger: 1 });
  });

  test('between the claim and the answer to the offer: the run is queued too, and executed once', async () => {
    // A runner takes offers once it has looked at the queue.
    await (await client.run(await client.newThread(), '#say Hello.')).end(60_000);
    const threadId = await client.newThread();
    const script = `${nonce()}\n#hold gate before times=1\n#say The answer.`;
    const answer = natsProxy.hold('request', { bytes: bytes('"taken":true') });
    const stream = await client.run(threadId, script);
    await answer.reached;
    await heldAt('gate');

    await killVictim();

    await expectWhole(threadId, stream, { texts: [script, 'The answer.'] });
    const next = await client.run(threadId, '#say Again.');
    await expectWhole(threadId, next, { texts: [script, 'The answer.', '#say Again.', 'Again.'], attempt: 1 });
  });
});

describe('two runners whose one slot is in use', () => {
  test('the run of a dead runner is taken over by the other, which has no free slot', async () => {
    await victim.kill9();
    const config = join(stack.homeDir, 'one-slot.yaml');
    const stacks = await readFile(join(stack.homeDir, 'config.yaml'), 'utf8');
    await writeFile(config, `${stacks}runner:\n  slots: 1\n`);
    victim = await stack.start('agent-runner', { CARIBOU_CONFIG: config });
    const first = await client.run(await client.newThread(), `${nonce()}\n#hold first before times=1\n#say One.`);
    await heldAt('first');
    rescuer = await stack.start('agent-runner', { CARIBOU_CONFIG: config });
    const second = await client.run(await client.newThread(), `${nonce()}\n#hold second before times=1\n#say Two.`);
    await heldAt('second');

    await victim.kill9();

    const frames = await first.end(60_000);
    expect(lastAttempt(frames)).toBe(2);
    expect(lastValues(frames).at(-1)?.content).toBe('One.');
    expect(stack.model.listHolds().map((hold) => hold.name)).toEqual(['second']);
    stack.model.release('second');
    expect(lastAttempt(await second.end(60_000))).toBe(1);
  });
});

describe('a runner that was paused past its lease', () => {
  test('changes nothing when it comes back', async () => {
    const threadId = await client.newThread();
    const script = `${nonce()}\n#hold gate after 2 times=1\n#hold later after 3 times=2\n#say One two three four.`;
    const stream = await client.run(threadId, script);
    await heldAt('gate');
    rescuer = await stack.start('agent-runner');

    victim.pause();
    await heldAt('later');
    victim.resume();
    stack.model.release('gate');
    await waitForOutput(victim, 'run lost', { timeoutMs: 20_000 });
    stack.model.release('later');

    await expectWhole(threadId, stream, { texts: [script, 'One two three four.'] });
  });
});
