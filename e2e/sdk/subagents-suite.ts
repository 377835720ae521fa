import { createHash } from 'node:crypto';
import type { TaskEvent } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { nonce, nth } from '../support/stack.js';
import {
  kindsByTask,
  requestsOfTasks,
  taskEvents,
  taskLine,
  taskLines,
  WITH_SUBAGENTS,
} from '../support/task-client.js';
import {
  ASSISTANT,
  COMBINED,
  collect,
  lastValues,
  newGate,
  newThread,
  read,
  runIdIn,
  runIdOf,
  runToEnd,
  say,
  type UseSdk,
} from './calls.js';
import type { Json, SdkClient, StreamPart } from './sdk-client.js';

/** The tokens of a subagent of `work` at its end, and before. */
const SPENT_FIRST = { input_tokens: 100, output_tokens: 7, total_tokens: 107 };
const SPENT = { input_tokens: 150, output_tokens: 10, total_tokens: 160 };
const TASKS = 3;

/** Two answers with a command between them. */
const work = (word: string, name: string): string =>
  [
    `${word} ${name}`,
    '#usage 100 7',
    `#say Looking at ${name}.`,
    `#+tool bash ${JSON.stringify({ description: 'look', command: `echo ${name}` })}`,
    '#usage 50 3',
    `#say Result ${name}.`,
  ].join('\n');

const fiveAtOnce = (word: string): string =>
  ['#usage 1000 10', taskLines(...['a', 'b', 'c', 'd', 'e'].map((name) => work(word, name)))]
    .concat('#usage 1500 15', '#tool ls {}', '#usage 500 5', '#say All done.')
    .join('\n');

interface ToolMessage {
  readonly name: string;
  readonly tool_call_id: string;
  readonly content: string;
  readonly status: string;
  readonly additional_kwargs: Json;
}

const messagesIn = <Message>(parts: readonly StreamPart[], type: string): readonly Message[] =>
  (lastValues(parts).messages ?? []).filter((message) => message.type === type) as unknown as Message[];

export function describeSubagents(use: UseSdk): void {
  describe('tasks', () => {
    test('of five at once with a limit of three, three run: their events, results and tokens', async () => {
      const { client, stack } = use();
      const threadId = await newThread(use());
      const word = nonce();

      const parts = await runToEnd(use(), threadId, fiveAtOnce(word), WITH_SUBAGENTS);

      const [asking] = messagesIn<{ tool_calls: { id: string }[] }>(parts, 'ai');
      const ids = asking?.tool_calls.map(({ id }) => id) ?? [];
      expect(ids).toHaveLength(TASKS);
      const events = taskEvents(parts);
      const kinds = ['task_started', 'task_running', 'task_running', 'task_running', 'task_completed'];
      expect(Object.fromEntries(kindsByTask(events))).toEqual(Object.fromEntries(ids.map((id) => [id, kinds])));
      ids.forEach((id, index) => expectEvents(events, id, nth(['a', 'b', 'c'], index)));
      expectResults(parts, ids);
      expect(requestsOfTasks(stack, word)).toHaveLength(2 * TASKS);
      await expectCountedOnce(client, threadId, parts);
      const { body } = await stack.client().call('GET', `/threads/${threadId}/token-usage`);
      expect(body).toMatchObject({
        total_tokens: 3_030 + TASKS * SPENT.total_tokens,
        by_caller: { lead_agent: 3_030, subagent: TASKS * SPENT.total_tokens, middleware: 0 },
      });
    });

    test('a client that reconnects with Last-Event-ID gets every event once', async () => {
      const { client, stack } = use();
      const threadId = await newThread(use());
      const gate = newGate();
      const held = (name: string): string =>
        `${nonce()}\n#say One ${name}.\n#+tool ls {}\n#hold ${gate}\n#say Two ${name}.`;
      const script = `${taskLines(held('a'), held('b'))}\n#say Done.`;
      const payload = { ...say(script), ...WITH_SUBAGENTS, streamMode: COMBINED, onDisconnect: 'continue' };
      const leaving = new AbortController();
      const first = read(client.runs.stream(threadId, ASSISTANT, { ...payload, signal: leaving.signal }));
      const runId = await runIdOf(first);
      await waitFor(() => taskEvents(first.parts).filter(({ type }) => type === 'task_running').length === 4, {
        what: 'the first answers of both and the results they asked for',
      });
      leaving.abort();
      await first.end.catch(() => undefined);
      const lastEventId = first.parts.findLast(({ id }) => id !== undefined)?.id;
      const second = read(client.runs.joinStream(threadId, runId, { lastEventId }));
      stack.model.release(gate);
      await second.end;

      const all = await collect(client.runs.joinStream(threadId, runId, { lastEventId: '-1' }));
      const published = [...taskEvents(first.parts), ...taskEvents(second.parts)];
      expect(taskEvents(first.parts)).toHaveLength(6);
      expect(published).toEqual(taskEvents(all));
      for (const kinds of kindsByTask(published).values())
        expect(kinds).toEqual(['task_started', 'task_running', 'task_running', 'task_running', 'task_completed']);
      for (const [index, { event, id }] of all.entries()) {
        if (event !== 'custom') continue;
        const rest = await collect(client.runs.joinStream(threadId, runId, { lastEventId: id }));
        expect(rest).toEqual(all.slice(index + 1));
      }
    });

    test('a subagent has no task tool, and a call of it creates no task', async () => {
      const { stack } = use();
      const word = nonce();
      const nested = taskLine(`${word} nested\n#say Never.`);

      const parts = await runToEnd(
        use(),
        await newThread(use()),
        `${taskLine(`${word} outer\n${nested}\n#say Alone then.`)}\n#say Done.`,
        WITH_SUBAGENTS,
      );

      const [first, second, ...more] = requestsOfTasks(stack, word);
      expect([first?.messages.at(-1)?.role, more]).toEqual(['user', []]);
      expect(first?.tools).toEqual(expect.arrayContaining(['bash', 'ls', 'read_file', 'write_file', 'str_replace']));
      for (const name of ['task', 'ask_clarification', 'present_files']) expect(first?.tools).not.toContain(name);
      expect(second?.messages.at(-1)).toMatchObject({
        role: 'tool',
        content: expect.stringContaining("'task' does not exist"),
      });
      expect(taskEvents(parts).map(({ type }) => type)).toEqual([
        'task_started',
        'task_running',
        'task_running',
        'task_running',
        'task_completed',
      ]);
      expect(messagesIn<ToolMessage>(parts, 'tool').map(({ content }) => content)).toEqual([
        'Task Succeeded. Result: Alone then.',
      ]);
    });
  });
}

/** The five events of a task, as DeerFlow's clients read them. */
function expectEvents(events: readonly TaskEvent[], id: string, name: string): void {
  const about = { task_id: id, model_name: 'caribou-demo' };
  const call = { name: 'bash', args: { description: 'look', command: `echo ${name}` }, type: 'tool_call' };
  const message = (content: string, calls: readonly Json[], usage: Json): unknown =>
    expect.objectContaining({
      type: 'ai',
      id: expect.any(String),
      content,
      tool_calls: calls.map((one) => ({ ...one, id: expect.any(String) })),
      usage_metadata: expect.objectContaining(usage),
    });
  const second = { input_tokens: 50, output_tokens: 3, total_tokens: 53 };
  expect(events.filter(({ task_id: of }) => of === id)).toEqual([
    { type: 'task_started', ...about, description: 'some work' },
    {
      type: 'task_running',
      ...about,
      message: message(`Looking at ${name}.`, [call], SPENT_FIRST),
      message_index: 1,
      total_messages: 1,
      usage: SPENT_FIRST,
    },
    {
      type: 'task_running',
      ...about,
      message: expect.objectContaining({ type: 'tool', content: `${name}\n` }),
      message_index: 2,
      total_messages: 2,
      usage: SPENT_FIRST,
    },
    {
      type: 'task_running',
      ...about,
      message: message(`Result ${name}.`, [], second),
      message_index: 3,
      total_messages: 3,
      usage: SPENT,
    },
    { type: 'task_completed', ...about, result: `Result ${name}.`, usage: SPENT },
  ]);
}

function expectResults(parts: readonly StreamPart[], ids: readonly string[]): void {
  const results = messagesIn<ToolMessage>(parts, 'tool').filter(({ name }) => name === 'task');
  expect(results.map(({ tool_call_id: id }) => id)).toEqual(ids);
  for (const [index, { content, status, additional_kwargs: marks }] of results.entries()) {
    const result = `Result ${nth(['a', 'b', 'c'], index)}.`;
    expect({ content, status }).toEqual({ content: `Task Succeeded. Result: ${result}`, status: 'success' });
    expect(marks).toEqual({
      subagent_status: 'completed',
      subagent_result_brief: result,
      subagent_result_sha256: createHash('sha256').update(result).digest('hex'),
      subagent_model_name: 'caribou-demo',
      subagent_token_usage: SPENT,
      subagent_token_usage_attributed: true,
    });
  }
}

/** The tokens of tasks are in the message that delegated them, and in the record of the run. */
async function expectCountedOnce(client: SdkClient, threadId: string, parts: readonly StreamPart[]): Promise<void> {
  const three = { input_tokens: 450, output_tokens: 30, total_tokens: 480 };
  const [asking, ...others] = messagesIn<{ usage_metadata: Json; additional_kwargs: Json }>(parts, 'ai');
  expect(asking?.additional_kwargs).toMatchObject({ subagent_token_usage: three });
  expect(asking?.usage_metadata).toMatchObject({ input_tokens: 1_450, output_tokens: 40, total_tokens: 1_490 });
  for (const other of others) expect(other.additional_kwargs).not.toHaveProperty('subagent_token_usage');
  expect(await client.runs.get(threadId, runIdIn(parts))).toMatchObject({
    status: 'success',
    lead_agent_tokens: 3_030,
    subagent_tokens: three.total_tokens,
    total_tokens: 3_510,
    llm_call_count: 3,
  });
}
