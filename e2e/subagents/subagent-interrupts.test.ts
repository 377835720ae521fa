import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type ClientInterrupt, DEFAULT_USER_ID } from '@caribou/contracts';
import { type TestService, waitFor } from '@caribou/testing';
import { ASKING_CONFIG, effectsIn, writeAskingModule } from '../support/asking-tool.js';
import type { ApiClient, WireMessage } from '../support/client.js';
import { nth, type Stack, startStack } from '../support/stack.js';
import { openTaskRecords } from '../support/task-records.js';
import { taskEvents, taskLines, WITH_SUBAGENTS } from '../support/task-client.js';

jest.setTimeout(120_000);

let stack: Stack;
let client: ApiClient;
let runner: TestService;
let pool: TestService;

beforeAll(async () => {
  stack = await startStack({ runners: 0, config: ASKING_CONFIG });
  await writeAskingModule(stack.homeDir);
  runner = await stack.start('agent-runner');
  pool = await stack.start('subagent-pool');
  client = stack.client();
});
afterAll(() => stack.stop());
beforeEach(() => rm(join(stack.homeDir, 'effects'), { force: true }));

const asking = (what: string): string => `#tool ask_first {"what":"${what}"}\n#say ${what} is over`;

async function askedOn(threadId: string, script: string): Promise<readonly ClientInterrupt[]> {
  const frames = await (await client.run(threadId, script, WITH_SUBAGENTS)).end(60_000);
  const last = frames.findLast(({ event }) => event === 'values')?.data as { __interrupt__?: ClientInterrupt[] };
  return last.__interrupt__ ?? [];
}

const wait = async (threadId: string, resume: unknown) =>
  (
    await client.call<{ messages: WireMessage[]; __interrupt__?: ClientInterrupt[] }>(
      'POST',
      `/threads/${threadId}/runs/wait`,
      { assistant_id: 'lead_agent', command: { resume }, ...WITH_SUBAGENTS },
    )
  ).body;

const resultsOf = (messages: readonly WireMessage[]): readonly string[] =>
  messages.filter(({ type }) => type === 'tool').map(({ content }) => String(content));

describe('a subagent that asks a person', () => {
  test('its question rises to the thread, nothing is held, and the answer continues it, also after kills', async () => {
    const threadId = await client.newThread();
    const asked = await askedOn(threadId, `${taskLines(asking('dig'))}\n#say finished`);
    expect(asked).toMatchObject([{ value: { question: 'May I dig?' }, namespace: [expect.stringMatching(/^task:/)] }]);
    await runner.kill9();
    await pool.kill9();
    [runner, pool] = await Promise.all([stack.start('agent-runner'), stack.start('subagent-pool')]);

    const { messages } = await wait(threadId, 'yes');

    expect(resultsOf(messages)).toEqual(['Task Succeeded. Result: dig is over']);
    expect(messages.at(-1)?.content).toBe('finished');
    expect(await effectsIn(stack.homeDir)).toEqual(['dig']);
  });

  test('several of them are answered one by one; their tokens are counted once', async () => {
    const threadId = await client.newThread();
    const asked = await askedOn(threadId, `${taskLines(asking('mow'), asking('rake'))}\n#say finished`);
    expect(asked.map(({ value }) => (value as { question: string }).question).sort()).toEqual([
      'May I mow?',
      'May I rake?',
    ]);
    const rake = asked.find(({ value }) => JSON.stringify(value).includes('rake'));
    const half = await wait(threadId, { [String(rake?.id)]: 'no' });
    expect(half.__interrupt__).toMatchObject([{ value: { question: 'May I mow?' } }]);
    expect(resultsOf(half.messages)).toEqual(['Task Succeeded. Result: rake is over']);

    const whole = await wait(threadId, 'yes');
    expect(resultsOf(whole.messages)).toHaveLength(2);
    expect(await effectsIn(stack.homeDir)).toEqual(['mow']);
    const usage = await client.call<{ by_caller: { subagent: number } }>('GET', `/threads/${threadId}/token-usage`);
    const counted = whole.messages.map(
      ({ additional_kwargs: kwargs }) =>
        (kwargs?.['subagent_token_usage'] as { total_tokens: number } | undefined)?.total_tokens ?? 0,
    );
    const ofResults = whole.messages.flatMap(({ type }, index) => (type === 'tool' ? [counted[index] ?? 0] : []));
    expect(usage.body.by_caller.subagent).toBe(ofResults.reduce((sum, tokens) => sum + tokens, 0));
    expect(usage.body.by_caller.subagent).toBeGreaterThan(0);
  });

  test('a pool that is killed while the task continues: its effect happens once', async () => {
    const threadId = await client.newThread();
    const asked = await askedOn(threadId, `${taskLines(asking('drain'))}\n#say finished`);
    const ended = wait(threadId, { [nth(asked, 0).id]: 'wait' });
    await waitFor(async () => (await effectsIn(stack.homeDir)).length > 0, { what: 'the effect' });
    await pool.kill9();
    pool = await stack.start('subagent-pool');

    const { messages } = await ended;

    expect(messages.at(-1)?.content).toBe('finished');
    expect(await effectsIn(stack.homeDir)).toEqual(['drain']);
  });

  test('the thread goes on without an answer: the waiting task is deleted', async () => {
    const threadId = await client.newThread();
    await askedOn(threadId, `${taskLines(asking('burn'))}\n#say finished`);
    const frames = await (await client.run(threadId, '#say other', WITH_SUBAGENTS)).end();
    expect(taskEvents(frames)).toEqual([]);
    const records = openTaskRecords(stack);
    const tasks = await records.ofThreads([{ userId: DEFAULT_USER_ID, threadId }]);
    await records.close();
    expect(tasks).toEqual([]);
    expect(await effectsIn(stack.homeDir)).toEqual([]);
  });
});
