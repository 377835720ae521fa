import type { TaskEvent } from '@caribou/contracts';
import { processesWith, waitFor } from '@caribou/testing';
import type { ApiClient } from '../support/client.js';
import { nonce, type Stack, startStack } from '../support/stack.js';
import { atOnce, endOf, requestsOfTasks, taskLine, turnOf, WITH_SUBAGENTS } from '../support/task-client.js';

jest.setTimeout(120_000);

const TIMEOUT_S = 8;

const isToolResult = (event: TaskEvent): boolean => event.type === 'task_running' && event.message.type === 'tool';

/** Kinds of subagents, each with one limit that is reached soon. */
const CONFIG = `llm_call:
  retry_base_delay_ms: 10
  retry_cap_delay_ms: 50
subagents:
  agents:
    thrifty: {token_budget: {max_tokens: 500}}
  custom_agents:
    hasty: {description: has little time, system_prompt: Hurry., timeout_seconds: ${TIMEOUT_S}}
    brief: {description: takes two turns, system_prompt: Be brief., max_turns: 2}
    thrifty: {description: saves tokens, system_prompt: Be thrifty.}
`;

const FIRST = { input_tokens: 100, output_tokens: 7, total_tokens: 107 };
const ABOUT = { task_id: expect.any(String) as string, model_name: 'caribou-demo' };

let stack: Stack;
let client: ApiClient;

beforeAll(async () => {
  stack = await startStack({ pools: 1, config: CONFIG });
  client = stack.client();
});
afterAll(() => stack.stop());
afterEach(() => stack.model.reset());

const bash = (command: string): string => `bash ${JSON.stringify({ description: 'x', command })}`;

test('time-out: the work of the task is ended, it is published as timed out, and its text is marked as unfinished', async () => {
  const threadId = await client.newThread();
  const word = nonce();
  const seconds = String(100_000 + Math.floor(Math.random() * 800_000));
  const halfDone = `${word}\n#usage 100 7\n#say Half done.`;
  const inCommand = `${halfDone}\n#+tool ${bash(`setsid sleep ${seconds} & sleep ${seconds}`)}\n#say Never.`;
  const inModel = `${halfDone}\n#+tool ls {}\n#hold gate\n#say Never.`;
  const lines = [inCommand, inModel].map((work) => taskLine(work, { type: 'hasty' }));
  const stream = await client.run(threadId, `${atOnce(...lines)}\n#say Noted.`, WITH_SUBAGENTS);
  await waitFor(() => processesWith(seconds).length >= 2 && stack.model.listHolds().length === 1, {
    what: 'a command and a model call under way',
  });

  const { events, results, run } = await endOf(client, threadId, stream);

  const error = `Execution timed out after ${TIMEOUT_S} seconds`;
  expect(processesWith(seconds)).toEqual([]);
  expect(requestsOfTasks(stack, word).filter(({ closedByClient }) => closedByClient)).toHaveLength(1);
  expect(results).toHaveLength(2);
  for (const { tool_call_id: id, content, status, additional_kwargs: marks } of results) {
    const ofTask = events.filter((event) => event.task_id === id && !isToolResult(event));
    expect(ofTask).toEqual([
      { ...ABOUT, type: 'task_started', description: 'some work' },
      expect.objectContaining({ type: 'task_running', message_index: 1 }),
      { ...ABOUT, type: 'task_timed_out', error, usage: FIRST },
    ]);
    expect({ content, status }).toEqual({
      content: `Task timed out. Error: ${error}\n\nPartial result, not finished:\nHalf done.`,
      status: 'error',
    });
    expect(marks).toEqual({
      subagent_status: 'timed_out',
      subagent_error: error,
      subagent_model_name: 'caribou-demo',
      subagent_token_usage: FIRST,
      subagent_token_usage_attributed: true,
    });
  }
  expect(run).toMatchObject({ status: 'success', subagent_tokens: 2 * FIRST.total_tokens });
});

describe('limits', () => {
  const again = `#tool ${bash('echo again')}\n`;

  test.each([
    {
      limit: 'turns, with something said',
      type: 'brief',
      work: `#say First part.\n#+tool ls {}\n#tool ls {}\n#say Never.`,
      text: 'Task Succeeded (capped: turn budget). Result: First part.',
      stopReason: 'turn_capped',
    },
    {
      limit: 'tokens',
      type: 'thrifty',
      work: `#usage 600 10\n#say Looking.\n#+tool ls {}\n#say What I have.`,
      text: 'Task Succeeded (capped: token budget). Result: What I have.',
      stopReason: 'token_capped',
    },
    {
      limit: 'repetitions',
      type: 'general-purpose',
      work: `${again.repeat(8)}#say Never.`,
      text: expect.stringMatching(
        /^Task Succeeded \(capped: repeated tool-call loop\)\. Result: \[FORCED STOP\]/,
      ) as string,
      stopReason: 'loop_capped',
    },
  ])('$limit: what the task has is its result, marked as capped', async ({ type, work, text, stopReason }) => {
    const { events, results, run } = await turnOf(client, `${taskLine(`${nonce()}\n${work}`, { type })}\n#say Noted.`);

    const [result] = results;
    expect(result).toMatchObject({
      content: text,
      status: 'success',
      additional_kwargs: { subagent_status: 'completed', subagent_stop_reason: stopReason },
    });
    const said = result?.content.replace(/^.*? Result: /s, '');
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', result: said });
    expect(run['status']).toBe('success');
  });

  test('turns, without any text: the task has failed', async () => {
    const work = `${nonce()}\n#tool ls {}\n#tool ls {}\n#say Never.`;
    const { events, results } = await turnOf(client, `${taskLine(work, { type: 'brief' })}\n#say Noted.`);

    const error = 'no result within 2 model turns';
    expect(results[0]).toMatchObject({
      content: `Task failed (capped: turn budget). Error: ${error}`,
      additional_kwargs: { subagent_status: 'failed', subagent_stop_reason: 'turn_capped', subagent_error: error },
    });
    expect(events.at(-1)).toMatchObject({ type: 'task_failed', error });
  });
});

test.each([
  ['refuses', '#error 401', 1],
  ['is down', '#error 500 times=9', 3],
])('a model that %s: the task has failed, its parent continues', async (_what, line, calls) => {
  const word = nonce();
  const work = `${word}\n#usage 100 7\n#say Half done.\n#+tool ls {}\n${line}\n#say Never.`;

  const { frames, events, results, run } = await turnOf(client, `${taskLine(work)}\n#say Noted.`);

  expect(requestsOfTasks(stack, word)).toHaveLength(1 + calls);
  const end = events.at(-1);
  expect(end).toEqual({ ...ABOUT, type: 'task_failed', error: expect.stringMatching(/./), usage: FIRST });
  const error = end?.type === 'task_failed' ? end.error : '';
  expect(results[0]).toMatchObject({
    content: `Task failed. Error: ${error}\n\nPartial result, not finished:\nHalf done.`,
    status: 'error',
    additional_kwargs: { subagent_status: 'failed', subagent_error: error, subagent_token_usage: FIRST },
  });
  expect(run).toMatchObject({ status: 'success', subagent_tokens: FIRST.total_tokens });
  expect(frames.filter(({ event }) => event === 'error')).toEqual([]);
});
