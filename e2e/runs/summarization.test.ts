import type { Message } from '@caribou/contracts';
import { type TestService, transcriptFaults, waitFor } from '@caribou/testing';
import { type ApiClient, runIdOf } from '../support/client.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';
import { linesOf } from '../support/threads-on-disk.js';

jest.setTimeout(120_000);

const CONFIG = `summarization:
  enabled: true
  trigger: {type: messages, value: 8}
  keep: {type: messages, value: 3}
title:
  model_name: caribou-demo
`;

let stack: Stack;
let client: ApiClient;

beforeAll(async () => {
  stack = await startStack({ config: CONFIG });
  client = stack.client();
});
afterAll(() => stack.stop());

interface State {
  readonly values: {
    readonly messages: Message[];
    readonly summary_text?: string;
    readonly title?: string;
    readonly todos?: unknown;
  };
}

const stateOf = async (threadId: string): Promise<State['values']> =>
  (await client.call<State>('GET', `/threads/${threadId}/state`)).body.values;

async function turn(threadId: string, script: string, options: Record<string, unknown> = {}): Promise<unknown> {
  const stream = await client.run(threadId, script, options);
  await stream.end(60_000);
  return (await client.call('GET', `/threads/${threadId}/runs/${runIdOf(stream)}`)).body['status'];
}

/** The texts of the summary requests that contain a word. */
const summaryRequests = (word: string): readonly string[] =>
  requestsWith(word).filter((body) => body.includes('<new_messages>'));
const requestsWith = (word: string): readonly string[] =>
  stack.model.requests(word).map(({ body }) => JSON.stringify(body));

const heldAt = (gate: string) =>
  waitFor(() => stack.model.listHolds().some((hold) => hold.name === gate), {
    what: `the model to hold at ${gate}`,
  });

/** Kills the only runner; another takes over. */
async function replaceRunner(): Promise<void> {
  const victim: TestService = nth(stack.runners, stack.runners.length - 1);
  await victim.kill9();
  stack.runners.push(await stack.start('agent-runner'));
}

describe('a long conversation', () => {
  test('continues with a summary: pairs stay whole, and so does the latest user message', async () => {
    const threadId = await client.newThread();
    const word = nonce();
    for (let number = 1; number <= 4; number += 1) {
      const call = `#tool bash ${JSON.stringify({ description: 'x', command: `echo ${number}` })}`;
      expect(await turn(threadId, `${word}\n${call}\n#say Turn ${number}.`)).toBe('success');
    }

    const { messages, summary_text: summary } = await stateOf(threadId);
    expect(summary).toMatch(/^Summary of \d+ messages\.$/);
    expect(messages.length).toBeLessThan(16);
    expect(transcriptFaults(messages)).toEqual([]);
    expect(messages.filter(({ type }) => type === 'human').length).toBeGreaterThan(0);
    expect(messages.at(-1)).toMatchObject({ type: 'ai', content: 'Turn 4.' });
    const last = nth(requestsWith(word), -1 + requestsWith(word).length);
    expect(last).toContain('conversation_summary');
    expect(last).toContain('#say Turn 4.');
    // The scripted model follows the last user message: none of its turns was lost.
    expect(summaryRequests(word).length).toBeGreaterThan(0);
  });

  test('whose summary fails loses nothing', async () => {
    const threadId = await client.newThread();
    const said: string[] = [];
    for (let number = 1; number <= 6; number += 1) {
      const words = `${nonce()} summary-fails:500\n#say Turn ${number}.`;
      said.push(words, `Turn ${number}.`);
      expect(await turn(threadId, words)).toBe('success');
    }

    const { messages, summary_text: summary } = await stateOf(threadId);
    expect(summary).toBeUndefined();
    expect(messages.map(({ content }) => content)).toEqual(said);
  });

  test('repeats the plan for the agent when the call that made it was summarized', async () => {
    const threadId = await client.newThread();
    const word = nonce();
    const plan = JSON.stringify({ todos: [{ content: `paint ${word}`, status: 'completed' }] });
    const options = { context: { is_plan_mode: true } };
    await turn(threadId, `${word}\n#tool write_todos ${plan}\n#say Planned.`, options);
    for (let number = 1; number <= 4; number += 1) await turn(threadId, `${word}\n#say Turn ${number}.`, options);

    const { messages, todos } = await stateOf(threadId);
    expect(todos).toEqual([{ content: `paint ${word}`, status: 'completed' }]);
    expect(messages.some((message) => message.type === 'ai' && message.tool_calls.length > 0)).toBe(false);
    expect(nth(requestsWith(word), requestsWith(word).length - 1)).toContain(`- [completed] paint ${word}`);
  });
});

describe('kill -9 of the runner', () => {
  test('during a summary: it is requested again, and nothing is lost', async () => {
    const threadId = await client.newThread();
    const word = `w${nonce().slice(6)}`;
    for (let number = 1; number <= 3; number += 1)
      await turn(threadId, `${word} summary-hold:${word}\n#say T${number}.`);
    const stream = await client.run(threadId, `${word}\n#tool bash {"description":"x","command":"echo 4"}\n#say T4.`);
    await heldAt(word);
    await replaceRunner();
    stack.model.release(word);
    await stream.end(60_000);

    const { messages, summary_text: summary } = await stateOf(threadId);
    expect(summary).toMatch(/^Summary of/);
    expect(transcriptFaults(messages)).toEqual([]);
    expect(messages.at(-1)).toMatchObject({ type: 'ai', content: 'T4.' });
    expect(summaryRequests(word)).toHaveLength(2);
  });

  test('during the title: the answer remains, and the model is not called for it again', async () => {
    const threadId = await client.newThread();
    const gate = `t${nonce().slice(6)}`;
    const stream = await client.run(threadId, `title-hold:${gate}\n#say Only once.`);
    await heldAt(gate);
    await replaceRunner();
    stack.model.release(gate);
    await stream.end(60_000);

    const { messages, title } = await stateOf(threadId);
    expect(title).toBe('Held title');
    expect(messages.map(({ content }) => content)).toEqual([expect.stringContaining(gate), 'Only once.']);
    expect(requestsWith(gate).filter((body) => body.includes('"tools"'))).toHaveLength(1);
  });

  test('after a title was written: no other one is requested', async () => {
    const threadId = await client.newThread();
    const gate = `u${nonce().slice(6)}`;
    const script = `${gate}\n#tool bash {"description":"x","command":"echo 1"}\n#hold ${gate}\n#say Done.`;
    const stream = await client.run(threadId, script);
    await heldAt(gate);
    const before = (await stateOf(threadId)).title;
    await replaceRunner();
    stack.model.release(gate);
    await stream.end(60_000);

    const { messages, title } = await stateOf(threadId);
    expect([before, title]).toEqual([title, expect.any(String)]);
    expect(messages.at(-1)).toMatchObject({ content: 'Done.' });
    expect(requestsWith(gate).filter((body) => /title/i.test(body) && !body.includes('"tools"'))).toHaveLength(1);
  });

  test('in the middle of a loop: the count continues, so the fifth call is not made', async () => {
    const threadId = await client.newThread();
    const gate = `l${nonce().slice(6)}`;
    const command = 'echo once >> /mnt/user-data/workspace/ledger';
    const same = `#tool bash ${JSON.stringify({ description: 'x', command })}\n`;
    const stream = await client.run(threadId, `${gate}\n${same.repeat(3)}#hold ${gate}\n${same.repeat(5)}#say Done.`);
    await heldAt(gate);
    await replaceRunner();
    stack.model.release(gate);
    await stream.end(60_000);

    const { body: run } = await client.call('GET', `/threads/${threadId}/runs/${runIdOf(stream)}`);
    expect(run).toMatchObject({ status: 'success', stop_reason: 'loop_capped' });
    expect(linesOf(stack, threadId, 'ledger')).toHaveLength(4);
    expect(transcriptFaults((await stateOf(threadId)).messages)).toEqual([]);
  });
});
