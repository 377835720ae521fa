import { processesWith, waitFor } from '@caribou/testing';
import { type ApiClient, lastValues, type OpenStream, runIdOf } from '../support/client.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';
import {
  atOnce,
  endOf,
  requestsOfTasks,
  taskEvents,
  taskLine,
  taskLines,
  WITH_SUBAGENTS,
} from '../support/task-client.js';
import { openTaskRecords, type TaskRecords } from '../support/task-records.js';

jest.setTimeout(120_000);
const FIRST = { input_tokens: 100, output_tokens: 7, total_tokens: 107 };

let stack: Stack;
let client: ApiClient;
let records: TaskRecords;

beforeAll(async () => {
  stack = await startStack({ pools: 1 });
  client = stack.client();
  records = openTaskRecords(stack);
});
afterAll(async () => {
  await records.close();
  await stack.stop();
});
afterEach(() => stack.model.reset());

const tasksOf = (threadId: string) => records.ofThreads([{ userId: 'default', threadId }]);
const cancel = (threadId: string, runId: string, action = 'interrupt') =>
  client.call('POST', `/threads/${threadId}/runs/${runId}/cancel?wait=1&action=${action}`);

const statusOf = async (threadId: string, runId: string): Promise<unknown> =>
  (await client.call('GET', `/threads/${threadId}/runs/${runId}`)).body['status'];

interface UnderWay {
  readonly threadId: string;
  readonly stream: OpenStream;
  readonly runId: string;
  /** The work of both tasks begins with it. */
  readonly word: string;
  /** A word in the command line of the processes of one task. */
  readonly seconds: string;
}

/** A run with two tasks, of which one is in a command and one in a model call; each has spent `FIRST`. */
async function twoTasks(): Promise<UnderWay> {
  const threadId = await client.newThread();
  const word = nonce();
  const seconds = String(100_000 + Math.floor(Math.random() * 800_000));
  const command = JSON.stringify({ description: 'waits', command: `setsid sleep ${seconds} & sleep ${seconds}` });
  const works = [`#+tool bash ${command}\n#say Never.`, '#+tool ls {}\n#hold gate\n#say Never.'];
  const script = taskLines(...works.map((rest) => `${word}\n#usage 100 7\n#say Begun.\n${rest}`));
  const stream = await client.run(threadId, `#usage 1000 10\n${script}\n#say Never.`, WITH_SUBAGENTS);
  await waitFor(() => processesWith(seconds).length >= 2 && stack.model.listHolds().length === 1, {
    what: 'a command and a model call under way',
  });
  return { threadId, stream, runId: runIdOf(stream), word, seconds };
}

async function expectAllEnded({ word, seconds }: UnderWay): Promise<void> {
  await waitFor(() => processesWith(seconds).length === 0, { what: 'the processes to end' });
  await waitFor(() => requestsOfTasks(stack, word).some(({ closedByClient }) => closedByClient), {
    what: 'the model call to be closed',
  });
}

describe('cancel of a run with tasks', () => {
  test('interrupt: all work ends, the ends are published, and tokens are counted once', async () => {
    const run = await twoTasks();
    const { threadId, stream, runId } = run;

    expect((await cancel(threadId, runId)).status).toBe(204);
    await expectAllEnded(run);

    const { events, run: record, frames } = await endOf(client, threadId, stream);
    expect(frames.at(-1)?.event).toBe('end');
    const about = { task_id: expect.any(String), model_name: 'caribou-demo' };
    expect(events.filter(({ type }) => type !== 'task_started' && type !== 'task_running')).toEqual(
      [1, 2].map(() => ({ ...about, type: 'task_cancelled', error: 'Task cancelled by user', usage: FIRST })),
    );
    expect(new Set(events.map(({ task_id: id }) => id)).size).toBe(2);
    expect(record).toMatchObject({
      status: 'interrupted',
      subagent_tokens: 2 * FIRST.total_tokens,
      total_tokens: 1_010 + 2 * FIRST.total_tokens,
    });
    const { body: usage } = await client.call('GET', `/threads/${threadId}/token-usage`);
    expect(usage).toMatchObject({ by_caller: { lead_agent: 1_010, subagent: 2 * FIRST.total_tokens } });
    expect((await tasksOf(threadId)).map(({ status }) => status)).toEqual(['interrupted', 'interrupted']);
    await expectNextRunWorks(threadId);
  });

  test('rollback: all work ends, and the thread is restored except for its token counts', async () => {
    const run = await twoTasks();
    const { threadId, stream, runId } = run;

    expect((await cancel(threadId, runId, 'rollback')).status).toBe(204);
    await expectAllEnded(run);

    expect((await stream.end()).at(-1)?.event).toBe('end');
    expect((await client.call('GET', `/threads/${threadId}/runs/${runId}`)).status).toBe(404);
    const { body } = await client.call<{ values: object }>('GET', `/threads/${threadId}/state`);
    expect(body.values).toEqual({});
    const { body: usage } = await client.call('GET', `/threads/${threadId}/token-usage`);
    expect(usage).toMatchObject({ by_caller: { lead_agent: 1_010, subagent: 2 * FIRST.total_tokens } });
    await expectNextRunWorks(threadId);
  });

  test('the run does not end before its command was asked to stop: no event follows', async () => {
    const run = await twoTasks();
    const { threadId, runId, word, seconds } = run;
    const manager = nth(stack.managers, 0);
    manager.pause();

    const cancelling = cancel(threadId, runId);
    try {
      const isOver = async (): Promise<boolean> => (await statusOf(threadId, runId)) === 'interrupted';
      const isClosed = () => requestsOfTasks(stack, word).some(({ closedByClient }) => closedByClient);
      await waitFor(isClosed, { what: 'the model call to be closed' });
      await expect(waitFor(isOver, { what: 'an early end', timeoutMs: 400 })).rejects.toThrow('an early end');
    } finally {
      manager.resume();
    }

    expect((await cancelling).status).toBe(204);
    await waitFor(() => processesWith(seconds).length === 0, { what: 'the processes to end' });
  });

  test('a task that waits for a slot ends with its run, and never begins', async () => {
    const pool = nth(stack.pools, 0);
    const threadId = await client.newThread();
    const word = nonce();
    pool.pause();
    const stream = await client.run(threadId, `${taskLine(`${word}\n#say Never.`)}\n#say Never.`, WITH_SUBAGENTS);
    await waitFor(async () => (await tasksOf(threadId)).length === 1, { what: 'the task to be admitted' });

    expect((await cancel(threadId, runIdOf(stream))).status).toBe(204);

    expect(taskEvents(await stream.end()).map(({ type }) => type)).toEqual(['task_cancelled']);
    expect(await tasksOf(threadId)).toMatchObject([{ status: 'interrupted', started_at: null }]);
    pool.resume();
    await expectNextRunWorks(threadId);
    expect(requestsOfTasks(stack, word)).toEqual([]);
  });

  test('the message that replaces a run ends its tasks', async () => {
    const run = await twoTasks();

    const next = await client.run(run.threadId, '#say Instead.', { multitask_strategy: 'interrupt' });

    await expectAllEnded(run);
    expect(lastValues(await next.end()).at(-1)?.content).toBe('Instead.');
    expect((await tasksOf(run.threadId)).map(({ status }) => status)).toEqual(['interrupted', 'interrupted']);
  });
});

/** Another task of the same thread, which also shows that the history is one that the model server takes. */
async function expectNextRunWorks(threadId: string): Promise<void> {
  const script = `${atOnce(taskLine(`${nonce()}\n#say Fine.`))}\n#say Next.`;
  const { results, frames } = await endOf(client, threadId, await client.run(threadId, script, WITH_SUBAGENTS));
  expect(results.at(-1)?.content).toBe('Task Succeeded. Result: Fine.');
  expect(lastValues(frames).at(-1)?.content).toBe('Next.');
}
