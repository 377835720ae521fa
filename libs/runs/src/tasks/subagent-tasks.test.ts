import { newId, type TaskEvent, taskIds, UnavailableError } from '@caribou/contracts';
import { type TaskRequest, type RunContext, RunCancelled, systemClock, type ThreadKey } from '@caribou/core';
import { ai, fakeRun, sampleTask, silentBus, type TaskFixture, thread, useTasks, waitFor } from '@caribou/testing';
import { SubagentTasks, type SubagentTaskOptions } from './subagent-tasks.js';

let fixture: TaskFixture;

useTasks(
  (opened) => {
    fixture = opened;
  },
  { maxPending: 3 },
);

const types = ['general-purpose', 'bash'].map((name) => ({ name, description: name }));
const ASKED: TaskRequest = {
  toolCallId: 'call_1',
  description: 'count',
  prompt: 'Count.',
  type: 'bash',
  tools: ['bash', 'ls'],
};

/** The parent's side of tasks in a runner, for a run of a thread. */
function runner(over: Partial<SubagentTaskOptions> = {}, context: Partial<RunContext> = {}) {
  const woken: ThreadKey[] = [];
  const port = new SubagentTasks({
    types,
    store: fixture.tasks,
    taskLog: fixture.taskLog,
    parentLog: fixture.main.events,
    bus: silentBus(),
    termsOf: (type, parentModel) =>
      types.some(({ name }) => name === type)
        ? { model: parentModel ?? 'default', maxTurns: 30, timeoutMs: 900_000 }
        : undefined,
    wakes: {
      publish: (key) => {
        woken.push(key);
        return Promise.resolve('stored');
      },
    },
    clock: systemClock,
    maxQueueMs: 60_000,
    checkMs: 5,
    ...over,
  });
  const run = fakeRun({ userId: 'alice', threadId: newId(), runId: newId(), ...context });
  const heard: TaskEvent[] = [];
  const publish = (event: TaskEvent): Promise<void> => {
    heard.push(event);
    return Promise.resolve();
  };
  const delegate = (asked: Partial<TaskRequest> = {}) => {
    const outcome = port.delegate({ ...ASKED, ...asked }, run, publish);
    outcome.catch(() => undefined);
    return outcome;
  };
  return { run, port, heard, woken, delegate, kinds: () => heard.map(({ type }) => type) };
}

type Runner = ReturnType<typeof runner>;
const keyOf = ({ run }: Runner, toolCallId = 'call_1') => ({ userId: 'alice', parentRunId: run.runId, toolCallId });

/** Waits until the task is admitted and claims it as a pool does. */
async function taken(parent: Runner) {
  await waitFor(() => fixture.tasks.find(keyOf(parent)), { what: 'the task to be admitted' });
  const { threadId, runId } = parent.run;
  return fixture.take(sampleTask({ parent: { userId: 'alice', threadId }, runId }));
}

describe('delegating a task', () => {
  test('admits it with all that a pool needs, publishes a wake, and returns how it ended', async () => {
    const parent = runner({}, { context: { model_name: 'm-2' } });
    const outcome = parent.delegate();
    const pool = await taken(parent);
    await fixture.finish(await fixture.answer(pool, ai('4 files.')));

    expect(await outcome).toEqual({ status: 'completed', text: '4 files.', usage: null, modelName: 'm-2' });
    expect(parent.kinds()).toEqual(['task_started', 'task_running', 'task_completed']);
    expect(parent.heard[0]).toEqual({
      type: 'task_started',
      task_id: 'call_1',
      description: 'count',
      model_name: 'm-2',
    });
    const ids = taskIds(parent.run.runId, 'call_1');
    expect(parent.woken).toEqual([{ userId: 'alice', threadId: ids.threadId }]);
    expect(pool.run).toMatchObject({
      run_id: ids.runId,
      thread_id: ids.threadId,
      assistant_id: 'bash',
      kwargs: {
        recursion_limit: 30,
        timeout_ms: 900_000,
        input: { messages: [{ type: 'human', id: `task:${ids.runId}`, content: 'Count.' }] },
      },
      metadata: {
        task: {
          parent: { thread_id: parent.run.threadId, run_id: parent.run.runId, tool_call_id: 'call_1' },
          subagent_type: 'bash',
          description: 'count',
          tools: ['bash', 'ls'],
          model: 'm-2',
        },
      },
    });
  });

  test.each([
    [false, { model_name: 'default', temperature: 0.2 }],
    [true, { model_name: 'default' }],
  ])(
    'the task has the temperature of the run, unless its kind has its own model: %s',
    async (hasOwnModel, expected) => {
      const termsOf = () => ({ model: 'default', hasOwnModel, maxTurns: 30, timeoutMs: 900_000 });
      const parent = runner({ termsOf }, { context: { temperature: 0.2, max_tokens: 50 } });
      const outcome = parent.delegate();
      const pool = await taken(parent);
      await fixture.finish(pool);
      await outcome;

      const { context } = pool.run.kwargs;
      expect(context).toEqual({ ...expected, thinking_enabled: false, non_interactive: true });
    },
  );

  test('continues without a wake: a sweep finds the task', async () => {
    const parent = runner({ wakes: { publish: () => Promise.reject(new UnavailableError('no NATS')) } });
    const outcome = parent.delegate();
    await fixture.finish(await taken(parent));

    expect(await outcome).toMatchObject({ status: 'completed' });
  });

  test('waits while the store is unavailable', async () => {
    let left = 2;
    const { tasks } = fixture;
    const dispatch: typeof tasks.dispatch = (task) => {
      left -= 1;
      return left >= 0 ? Promise.reject(new UnavailableError('away')) : tasks.dispatch(task);
    };
    const parent = runner({ store: { ...tasks, dispatch } });
    const outcome = parent.delegate();
    await fixture.finish(await taken(parent));

    expect(await outcome).toMatchObject({ status: 'completed' });
  });

  test('ends with the reason of the run’s signal and does not change the task', async () => {
    const parent = runner();
    const outcome = parent.delegate();
    await waitFor(() => fixture.tasks.find(keyOf(parent)), { what: 'the task to be admitted' });
    const reason = new RunCancelled('interrupt');

    parent.run.abort(reason);

    await expect(outcome).rejects.toBe(reason);
    expect(await fixture.tasks.find(keyOf(parent))).toMatchObject({ status: 'pending' });
    expect(parent.heard).toEqual([]);
  });

  test('a defect is not a refusal', async () => {
    const broken = runner({ store: { ...fixture.tasks, dispatch: () => Promise.reject(new TypeError('broken')) } });

    await expect(broken.delegate()).rejects.toThrow('broken');
  });
});

describe('a refusal', () => {
  test('of an unknown kind names the available ones, and no task is admitted', async () => {
    const parent = runner();
    const text = "Unknown subagent type 'poet'. Available types: general-purpose, bash";

    expect(await parent.delegate({ type: 'poet' })).toEqual({ status: 'failed', text, usage: null });

    expect(parent.heard).toEqual([{ type: 'task_failed', task_id: 'call_1', error: text, usage: null }]);
    expect(await fixture.tasks.find(keyOf(parent))).toBeNull();
    expect(parent.woken).toEqual([]);
  });

  test('for too many tasks asks the model to do without, and the same text is published', async () => {
    for (let at = 0; at < 3; at += 1) await fixture.tasks.dispatch(sampleTask({ parent: thread('bob') }));
    const parent = runner();

    const { status, text } = await parent.delegate();

    expect(status).toBe('failed');
    expect(text).toMatch(
      /^No subagent can take the task now: 3 threads are waiting .*Do the work yourself, or try again/,
    );
    expect(parent.heard).toEqual([{ type: 'task_failed', task_id: 'call_1', error: text, usage: null }]);
  });

  test.each([{ prompt: 'Another.' }, { description: 'another' }, { type: 'general-purpose' }])(
    'of a call that handed over something else before (%j) leaves the first task as it is',
    async (change) => {
      const parent = runner();
      const first = parent.delegate();
      await waitFor(() => fixture.tasks.find(keyOf(parent)), { what: 'the task to be admitted' });

      expect(await parent.delegate(change)).toMatchObject({
        status: 'failed',
        text: 'this tool call has already delegated another task',
      });

      await fixture.finish(await taken(parent));
      expect(await first).toMatchObject({ status: 'completed' });
    },
  );
});

describe('a runner that takes over the parent', () => {
  /** The parent's run in the store, with the events that its first runner published. */
  async function parentThat(published: readonly TaskEvent[]) {
    const key = thread();
    const { run_id: runId } = await fixture.main.admit(key);
    const { lease } = await fixture.main.claim(key);
    await fixture.main.runs.append(
      lease,
      published.map((data) => ({ kind: 'custom', data })),
    );
    return runner({}, { ...key, runId, attempt: 2 });
  }
  const started: TaskEvent = { type: 'task_started', task_id: 'call_1', description: 'count' };
  const running = (index: number): TaskEvent => ({
    type: 'task_running',
    task_id: 'call_1',
    message: ai('x'),
    usage: null,
    message_index: index,
    total_messages: index,
  });

  test('finds the same task and publishes only the missing events', async () => {
    const parent = await parentThat([started, running(1), { ...started, task_id: 'call_2' }]);
    const outcome = parent.delegate();
    let pool = await taken(parent);
    for (const text of ['One.', 'Two.', 'Three.']) pool = await fixture.answer(pool, ai(text));
    await fixture.finish(pool);

    expect(await outcome).toMatchObject({ status: 'completed', text: 'Three.' });
    expect(parent.kinds()).toEqual(['task_running', 'task_running', 'task_completed']);
    expect(parent.heard[0]).toMatchObject({ message_index: 2, total_messages: 2, message: { content: 'Two.' } });
  });

  test('publishes nothing when everything was published, and returns the same outcome', async () => {
    const parent = await parentThat([
      started,
      running(1),
      { type: 'task_completed', task_id: 'call_1', result: 'One.', usage: null },
    ]);
    const outcome = parent.delegate();
    await fixture.finish(await fixture.answer(await taken(parent), ai('One.')));

    expect(await outcome).toMatchObject({ status: 'completed', text: 'One.' });
    expect(parent.heard).toEqual([]);
  });

  test('does not publish a refusal twice', async () => {
    const parent = await parentThat([{ type: 'task_failed', task_id: 'call_1', error: 'x', usage: null }]);

    expect(await parent.delegate({ type: 'poet' })).toMatchObject({ status: 'failed' });
    expect(parent.heard).toEqual([]);
  });

  test('reads the log; a first attempt does not', async () => {
    let reads = 0;
    const parentLog = {
      read: (...args: Parameters<typeof fixture.main.events.read>) => {
        reads += 1;
        return fixture.main.events.read(...args);
      },
    };
    await runner({ parentLog }, { attempt: 1 }).delegate({ type: 'poet' });
    expect(reads).toBe(0);
    await runner({ parentLog }, { attempt: 2 }).delegate({ type: 'poet' });
    expect(reads).toBe(1);
  });
});
