import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClientInterrupt } from '@caribou/contracts';
import { type TestService, waitFor } from '@caribou/testing';
import { ASKING_CONFIG, effectsIn, writeAskingModule } from '../support/asking-tool.js';
import { type ApiClient, lastValues, runIdOf, type WireMessage } from '../support/client.js';
import { nth, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(120_000);

interface State {
  readonly values: { readonly messages: readonly WireMessage[]; readonly title?: string };
  readonly next: readonly string[];
  readonly tasks: readonly { readonly name: string; readonly interrupts: readonly ClientInterrupt[] }[];
}
interface Thread {
  readonly status: string;
  readonly interrupts: Readonly<Record<string, readonly ClientInterrupt[]>>;
}

const script = (...calls: readonly string[]): string =>
  [...calls.map((what, index) => `${index === 0 ? '#tool' : '#+tool'} ask_first {"what":"${what}"}`), '#say bye'].join(
    '\n',
  );

let stack: Stack;
let client: ApiClient;
let other: ApiClient;
let runner: TestService;

beforeAll(async () => {
  stack = await startStack({ gateways: 2, runners: 0, config: ASKING_CONFIG });
  await writeAskingModule(stack.homeDir);
  runner = await stack.start('agent-runner');
  client = stack.client(0);
  other = stack.client(1);
});
afterAll(() => stack.stop());
beforeEach(() => Promise.all(['effects', 'gate'].map((name) => rm(join(stack.homeDir, name), { force: true }))));

const stateOf = async (threadId: string): Promise<State> =>
  (await client.call<State>('GET', `/threads/${threadId}/state`)).body;
const threadOf = async (threadId: string): Promise<Thread> =>
  (await client.call<Thread>('GET', `/threads/${threadId}`)).body;

/** Starts a run that asks, and returns what it asks. */
async function askedOn(threadId: string, text: string): Promise<readonly ClientInterrupt[]> {
  const stream = await client.run(threadId, text);
  const frames = await stream.end();
  const last = frames.findLast(({ event }) => event === 'values')?.data as { __interrupt__?: ClientInterrupt[] };
  const run = await client.call<{ status: string }>('GET', `/threads/${threadId}/runs/${runIdOf(stream)}`);
  expect(run.body).toMatchObject({ status: 'interrupted', error: null });
  return last.__interrupt__ ?? [];
}

const resume = (threadId: string, answer: unknown, by: ApiClient = other) =>
  by.call<Record<string, unknown>>('POST', `/threads/${threadId}/runs`, {
    assistant_id: 'lead_agent',
    command: { resume: answer },
  });
const wait = (threadId: string, answer: unknown) =>
  other.call<{ messages: WireMessage[] }>('POST', `/threads/${threadId}/runs/wait`, {
    assistant_id: 'lead_agent',
    command: { resume: answer },
  });
const textsOf = (messages: readonly WireMessage[]): readonly string[] =>
  messages.filter(({ type }) => type !== 'human').map(({ type, content }) => `${type}: ${String(content)}`);

describe('a run that asks a person', () => {
  test('ends as interrupted, is shown in LangGraph’s form, and is continued at another gateway', async () => {
    const threadId = await client.newThread();
    const asked = await askedOn(threadId, script('paint'));
    const expected = { value: { question: 'May I paint?' }, response_schema: { type: 'string' }, resumable: true };
    expect(asked).toMatchObject([expected]);

    const state = await stateOf(threadId);
    expect(state).toMatchObject({ next: ['tools'], tasks: [{ name: 'tools', interrupts: asked }] });
    const thread = await threadOf(threadId);
    expect(thread.status).toBe('interrupted');
    expect(Object.values(thread.interrupts)).toEqual([asked]);
    expect(await effectsIn(stack.homeDir)).toEqual([]);

    const { body } = await wait(threadId, 'yes');
    expect(textsOf(body.messages).slice(-2)).toEqual(['tool: did paint as "yes"', 'ai: bye']);
    expect(await effectsIn(stack.homeDir)).toEqual(['paint']);
    expect(await threadOf(threadId)).toMatchObject({ status: 'idle', interrupts: {} });
  });

  test('answers by id: each call is decided by itself, and what is open is shown again', async () => {
    const threadId = await client.newThread();
    const asked = await askedOn(threadId, script('saw', 'drill'));
    const [saw, drill] = [nth(asked, 0), nth(asked, 1)];

    const unclear = await resume(threadId, 'yes');
    expect(unclear.status).toBe(422);
    expect(String(unclear.body['detail'])).toContain('waits for 2 answers');

    const half = await wait(threadId, { [drill.id]: 'no' });
    expect(half.body).toMatchObject({ __interrupt__: [{ id: saw.id }] });
    expect(await effectsIn(stack.homeDir)).toEqual([]);

    const { body } = await wait(threadId, 'yes');
    expect(new Set(textsOf(body.messages))).toEqual(
      new Set(['ai: ', 'ai: bye', 'tool: did saw as "yes"', 'tool: refused by a person']),
    );
    expect(await effectsIn(stack.homeDir)).toEqual(['saw']);
  });

  test('a hook asks, too', async () => {
    const threadId = await client.newThread();
    const context = { ask_before_model: true };
    const frames = await (await client.run(threadId, '#say hello', { context })).end();
    expect(frames.findLast(({ event }) => event === 'updates')?.data).toMatchObject({
      __interrupt__: [{ value: 'go on?' }],
    });

    const body = { assistant_id: 'lead_agent', context, command: { resume: 7 }, stream_mode: ['values'] };
    const resumed = await (await other.stream('POST', `/threads/${threadId}/runs/stream`, body)).end();
    expect(lastValues(resumed).at(-1)?.content).toBe('hello');
    expect((await stateOf(threadId)).values.title).toContain('answered 7');
  });

  test('any value continues from a breakpoint, once', async () => {
    const threadId = await client.newThread();
    await (await client.run(threadId, script('glue'), { interrupt_before: ['tools'] })).end();
    expect(await threadOf(threadId)).toMatchObject({ status: 'interrupted', interrupts: {} });

    const { body } = await wait(threadId, true);
    expect(body).toMatchObject({ __interrupt__: [{ value: { question: 'May I glue?' } }] });
    await wait(threadId, 'yes');
    expect((await resume(threadId, true)).status).toBe(409);
    expect(await effectsIn(stack.homeDir)).toEqual(['glue']);
  });

  test('refuses a second answer, an old id, an answer to nothing, and one after the thread went on', async () => {
    const threadId = await client.newThread();
    expect((await resume(threadId, 'yes')).status).toBe(409);
    const asked = await askedOn(threadId, script('weld'));
    expect((await resume(threadId, { ['0'.repeat(32)]: 'yes' })).status).toBe(409);

    const pressed = await Promise.all([client, other].map((by) => resume(threadId, { [nth(asked, 0).id]: 'yes' }, by)));
    expect(new Set(pressed.map(({ status }) => status))).toEqual(new Set([200, 409]));
    await waitFor(async () => (await threadOf(threadId)).status === 'idle', { what: 'the end' });
    expect((await resume(threadId, { [nth(asked, 0).id]: 'yes' })).status).toBe(409);
    expect(await effectsIn(stack.homeDir)).toEqual(['weld']);

    const second = await askedOn(threadId, script('solder'));
    await (await client.run(threadId, '#say other')).end();
    expect(await threadOf(threadId)).toMatchObject({ status: 'idle', interrupts: {} });
    expect((await resume(threadId, { [nth(second, 0).id]: 'yes' })).status).toBe(409);
    expect(await effectsIn(stack.homeDir)).toEqual(['weld']);
  });
});

describe('a runner that is killed', () => {
  test('between question and answer: another one continues with the answer', async () => {
    const threadId = await client.newThread();
    await askedOn(threadId, script('bolt'));
    await runner.kill9();
    runner = await stack.start('agent-runner');

    const { body } = await wait(threadId, 'yes');

    expect(textsOf(body.messages).at(-1)).toBe('ai: bye');
    expect(await effectsIn(stack.homeDir)).toEqual(['bolt']);
  });

  test('after the effect: it is not repeated, and the model reads that its outcome is unknown', async () => {
    const threadId = await client.newThread();
    await askedOn(threadId, script('blast'));
    const started = await resume(threadId, 'wait');
    expect(started.status).toBe(200);
    await waitFor(async () => (await effectsIn(stack.homeDir)).length > 0, { what: 'the effect' });
    await runner.kill9();
    await writeFile(join(stack.homeDir, 'gate'), '');
    runner = await stack.start('agent-runner');

    await waitFor(async () => (await threadOf(threadId)).status === 'idle', { what: 'the end', timeoutMs: 60_000 });

    expect(await effectsIn(stack.homeDir)).toEqual(['blast']);
    const texts = textsOf((await stateOf(threadId)).values.messages);
    expect(texts.at(-2)).toContain('The outcome of this call is unknown');
    expect(texts.at(-1)).toBe('ai: bye');
  });
});
