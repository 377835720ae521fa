import { waitFor } from '@caribou/testing';
import type { Frame } from '../support/client.js';
import { nonce, type Stack, startStack } from '../support/stack.js';
import {
  endOf,
  kindsByTask,
  requestsOfTasks,
  taskEvents,
  taskLine,
  taskLines,
  turnOf,
  WITH_SUBAGENTS,
} from '../support/task-client.js';
import { openTaskRecords, type TaskRecords } from '../support/task-records.js';

jest.setTimeout(120_000);

const TIMEOUT_S = 5;
const MAX_QUEUE_S = 4;

describe('a queue without a pool', () => {
  let stack: Stack;
  let records: TaskRecords;

  afterEach(async () => {
    await records.close();
    await stack.stop();
  });

  async function start(...lines: readonly string[]): Promise<void> {
    stack = await startStack({ config: `subagents:\n${lines.map((line) => `  ${line}\n`).join('')}` });
    records = openTaskRecords(stack);
  }

  const tasksOf = (threadId: string) => records.ofThreads([{ userId: 'default', threadId }]);

  test('waiting does not count: a task that waited longer than it may run has all of its time', async () => {
    await start(`timeout_seconds: ${TIMEOUT_S}`);
    const client = stack.client();
    const threadId = await client.newThread();
    const script = `${taskLine(`${nonce()}\n#say Fine.`)}\n#say Done.`;
    const stream = await client.run(threadId, script, WITH_SUBAGENTS);
    const [waiting] = await waitFor(
      async () => {
        const tasks = await tasksOf(threadId);
        return tasks.length === 1 && tasks;
      },
      { what: 'the task to be admitted' },
    );
    const isOverdue = (): boolean => Date.now() - Date.parse(waiting?.created_at ?? '') > 1_000 * TIMEOUT_S;
    await waitFor(isOverdue, { what: 'the task to wait longer than it may run' });
    await stack.start('subagent-pool');

    const { results, events } = await endOf(client, threadId, stream);

    expect(results.map(({ content }) => content)).toEqual(['Task Succeeded. Result: Fine.']);
    expect(events.map(({ type }) => type)).toEqual(['task_started', 'task_running', 'task_completed']);
    const [task] = await tasksOf(threadId);
    const at = (time: string | null | undefined): number => Date.parse(time ?? '');
    expect(at(task?.started_at) - at(task?.created_at)).toBeGreaterThan(1_000 * TIMEOUT_S);
  });

  test('no pool takes the task in time: it has failed, and no later pool works on it', async () => {
    await start(`max_queue_seconds: ${MAX_QUEUE_S}`);
    const client = stack.client();
    const word = nonce();

    const { results, events, run } = await turnOf(client, `${taskLine(`${word}\n#say Never.`)}\n#say Noted.`);

    const error = `no subagent-pool had room for the task within ${MAX_QUEUE_S} seconds`;
    expect(results.map(({ content }) => content)).toEqual([`Task failed. Error: ${error}`]);
    expect(events).toMatchObject([{ type: 'task_failed', error, usage: null }]);
    expect(run['status']).toBe('success');
    expect(await tasksOf(String(run['thread_id']))).toMatchObject([{ status: 'interrupted', started_at: null }]);
    const pool = await stack.start('subagent-pool');
    await waitFor(async () => (await pool.ready()).ok, { what: 'the pool to be ready' });
    const later = await turnOf(client, `${taskLine(`${nonce()}\n#say Fine.`)}\n#say Done.`);
    expect(later.results.map(({ content }) => content)).toEqual(['Task Succeeded. Result: Fine.']);
    expect(requestsOfTasks(stack, word)).toEqual([]);
  });

  test('a full queue: the agent is asked to do without, and the queued task is executed', async () => {
    await start('max_pending: 1');
    const client = stack.client();
    const threadId = await client.newThread();
    const works = ['a', 'b', 'c'].map((name) => `${nonce()}\n#say Result ${name}.`);
    const stream = await client.run(threadId, `${taskLines(...works)}\n#say Done.`, WITH_SUBAGENTS);
    const kindsOf = (frames: readonly Frame[]): readonly string[] => taskEvents(frames).map(({ type }) => type);
    await stream.waitFor('two refusals', () => kindsOf(stream.frames).length === 2);
    await stack.start('subagent-pool');

    const { frames, results, events } = await endOf(client, threadId, stream);

    const taken = results.filter(({ status }) => status === 'success');
    expect(taken.map(({ content }) => content)).toEqual([
      expect.stringMatching(/^Task Succeeded\. Result: Result [abc]\.$/),
    ]);
    for (const { content, additional_kwargs: marks } of results.filter(({ status }) => status === 'error')) {
      expect(content).toMatch(/^Task failed\. Error: No subagent can take the task now: .* Do the work yourself/);
      expect(marks).toMatchObject({ subagent_status: 'failed' });
    }
    expect(kindsOf(frames).slice(0, 2)).toEqual(['task_failed', 'task_failed']);
    expect([...kindsByTask(events).values()].sort((one, other) => one.length - other.length)).toEqual([
      ['task_failed'],
      ['task_failed'],
      ['task_started', 'task_running', 'task_completed'],
    ]);
  });
});
