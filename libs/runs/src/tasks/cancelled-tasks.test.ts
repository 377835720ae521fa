import type { AiMessage, RunRecord, TaskEvent, ThreadState, ToolMessage } from '@caribou/contracts';
import { silentLogger, systemClock } from '@caribou/core';
import {
  ai,
  type ClaimedRun,
  human,
  sampleTask,
  silentBus,
  type TaskFixture,
  thread,
  useTasks,
  waitFor,
} from '@caribou/testing';
import { endTasksOf } from './cancelled-tasks.js';

let fixture: TaskFixture;
let parent: ClaimedRun;

useTasks(async (opened) => {
  fixture = opened;
  const key = thread();
  await fixture.main.admit(key);
  parent = await fixture.main.claim(key);
});

const counted = { turns: 1, calls: [{ caller: 'lead_agent', model: 'm', inputTokens: 10, outputTokens: 2 }] } as const;
const usage = { input_tokens: 10, output_tokens: 2, total_tokens: 12 };
const asksFor = (...calls: readonly (readonly [string, string])[]): AiMessage => ({
  ...ai('I divide.'),
  tool_calls: calls.map(([name, id]) => ({ name, args: {}, id, type: 'tool_call' })),
});
const result = (id: string): ToolMessage => ({
  type: 'tool',
  id: `tool:${id}`,
  name: 'task',
  tool_call_id: id,
  content: '',
  status: 'success',
  additional_kwargs: {},
  response_metadata: {},
});
const taskOf = (toolCallId: string) => sampleTask({ parent: parent.lease, runId: parent.lease.runId, toolCallId });

async function dispatch(toolCallId: string): Promise<RunRecord> {
  return fixture.tasks.dispatch(taskOf(toolCallId));
}
const publish = (...events: readonly TaskEvent[]) =>
  fixture.main.runs.append(
    parent.lease,
    events.map((data) => ({ kind: 'custom', data })),
  );

function ending(state: ThreadState) {
  const bus = silentBus();
  const reads: string[] = [];
  const parentLog = {
    read: (...args: Parameters<typeof fixture.main.events.read>) => {
      reads.push(args[1]);
      return fixture.main.events.read(...args);
    },
  };
  const ports = {
    store: fixture.tasks,
    log: fixture.taskLog,
    parentLog,
    bus,
    clock: systemClock,
    maxQueueMs: 60_000,
    checkMs: 5,
  };
  const words = endTasksOf(ports, { state, record: parent.run, logger: silentLogger });
  return { words, bus, reads };
}

const cancelled = (id: string, over: Record<string, unknown> = {}) => ({
  kind: 'custom',
  data: {
    type: 'task_cancelled',
    task_id: id,
    error: 'Task cancelled by user',
    model_name: 'm',
    usage: null,
    ...over,
  },
});

describe(endTasksOf, () => {
  test('ends a waiting task at once and publishes that', async () => {
    await dispatch('call_1');

    const { words, bus } = ending({ messages: [human('hi'), asksFor(['task', 'call_1'])] });

    expect(await words).toEqual({ calls: [], events: [cancelled('call_1')] });
    expect(bus.cancelled).toEqual([]);
    expect(await fixture.runs.listUnowned(10)).toEqual([]);
  });

  test('asks a running task to end, waits for it, and counts what it cost', async () => {
    const { run_id: runId } = await dispatch('call_1');
    const pool = await fixture.answer(await fixture.take(taskOf('call_1')), ai('Looking.'), counted);

    const { words, bus } = ending({ messages: [asksFor(['task', 'call_1'])] });
    await waitFor(() => bus.cancelled.length > 0, { what: 'the cancel to be published' });
    expect(bus.cancelled).toEqual([runId]);
    expect(await fixture.runs.renew(pool.lease)).toEqual({ cancel: 'interrupt' });
    await fixture.finish(pool, { status: 'interrupted' });

    expect(await words).toEqual({
      calls: [{ caller: 'subagent', model: 'm', inputTokens: 10, outputTokens: 2 }],
      events: [cancelled('call_1', { usage })],
    });
  });

  test('a task that ended before its result was committed is published with its outcome and counted', async () => {
    await dispatch('call_1');
    await fixture.finish(await fixture.answer(await fixture.take(taskOf('call_1')), ai('Done.'), counted));

    const { words } = ending({ messages: [asksFor(['task', 'call_1'])] });

    expect(await words).toEqual({
      calls: [{ caller: 'subagent', model: 'm', inputTokens: 10, outputTokens: 2 }],
      events: [
        {
          kind: 'custom',
          data: { type: 'task_completed', task_id: 'call_1', result: 'Done.', usage, model_name: 'm' },
        },
      ],
    });
  });

  test('a published end of a task is not published again, but counted', async () => {
    await dispatch('call_1');
    await fixture.finish(await fixture.answer(await fixture.take(taskOf('call_1')), ai('Done.'), counted));
    await publish(
      { type: 'task_started', task_id: 'call_1', description: 'd' },
      { type: 'task_completed', task_id: 'call_1', result: 'Done.', usage },
    );

    const { words } = ending({ messages: [asksFor(['task', 'call_1'])] });

    expect(await words).toMatchObject({ calls: [{ inputTokens: 10 }], events: [] });
  });

  test('calls with a result, other tools, calls of older answers and calls without a task are ignored', async () => {
    for (const call of ['old', 'answered', 'other']) await dispatch(call);
    const state: ThreadState = {
      messages: [
        asksFor(['task', 'old']),
        human('and'),
        asksFor(['task', 'answered'], ['bash', 'other'], ['task', 'refused']),
        result('answered'),
      ],
    };

    const { words, reads } = ending(state);

    expect(await words).toEqual({});
    expect(reads).toEqual([]);
    expect(await fixture.runs.listUnowned(10)).toHaveLength(3);
  });

  test('several tasks are ended together', async () => {
    for (const call of ['a', 'b', 'c']) await dispatch(call);

    const { words } = ending({ messages: [asksFor(['task', 'a'], ['task', 'b'], ['task', 'c'])] });

    expect((await words).events).toEqual(['a', 'b', 'c'].map((id) => cancelled(id)));
  });

  test('a task whose pool does not respond delays the end only for seconds, and is published as cancelled', async () => {
    await dispatch('call_1');
    await fixture.answer(await fixture.take(taskOf('call_1')), ai('Looking.'), counted);

    const { words } = ending({ messages: [asksFor(['task', 'call_1'])] });

    expect(await words).toEqual({
      calls: [{ caller: 'subagent', model: 'm', inputTokens: 10, outputTokens: 2 }],
      events: [cancelled('call_1', { usage })],
    });
  });

  test('a thread without an answer has no tasks', async () => {
    expect(await ending({ messages: [human('hi')] }).words).toEqual({});
    expect(await ending({ messages: [] }).words).toEqual({});
  });
});
