import type { TaskEvent } from '@caribou/contracts';
import {
  type TaskRequest,
  type RunContext,
  type SubagentPort,
  type TaskOutcome,
  type ToolContext,
  activeSkill,
  applyUpdate,
  RunCancelled,
} from '@caribou/core';
import { fakeRun } from '@caribou/testing';
import { taskTool } from './task.js';

const types = [
  { name: 'general-purpose', description: 'anything' },
  { name: 'bash', description: 'commands' },
];
const DONE: TaskOutcome = { status: 'completed', text: 'done', usage: null };

/** A port that records its requests and publishes these events. */
function port(outcome: TaskOutcome = DONE, events: readonly TaskEvent[] = []) {
  const asked: TaskRequest[] = [];
  const subagents: SubagentPort = {
    types,
    delegate: async (task, _run, publish) => {
      asked.push(task);
      for (const event of events) await publish(event);
      return outcome;
    },
  };
  return { subagents, asked };
}

const context = (run: RunContext = fakeRun()): ToolContext => ({
  run,
  toolCallId: 'call_1',
  key: `${run.runId}:call_1`,
  state: { messages: [] },
});
const args = { description: 'count files', prompt: 'Count the files.', subagent_type: 'general-purpose' };

describe(taskTool, () => {
  test('hands over what the model asked for, under the id of the call and with the tools of the agent', async () => {
    const { subagents, asked } = port();

    const outcome = await taskTool(subagents, ['ls', 'bash']).invoke(args, context());

    expect(asked).toEqual([
      {
        toolCallId: 'call_1',
        description: 'count files',
        prompt: 'Count the files.',
        type: 'general-purpose',
        tools: ['ls', 'bash'],
      },
    ]);
    expect(outcome).toMatchObject({ content: 'Task Succeeded. Result: done' });
  });

  test('events of the task are published to the watchers of the run unchanged', async () => {
    const events: TaskEvent[] = [
      { type: 'task_started', task_id: 'call_1', description: 'count files' },
      { type: 'task_completed', task_id: 'call_1', result: 'done', usage: null },
    ];
    const run = fakeRun();

    await taskTool(port(DONE, events).subagents, []).invoke(args, context(run));

    expect(run.events).toEqual(events.map((data) => ({ kind: 'custom', data })));
  });

  test.each([
    [{ ...args, prompt: '  ' }, 'prompt: '],
    [{ ...args, prompt: 'x'.repeat(200_001) }, 'prompt: '],
    [{ ...args, description: 'x'.repeat(501) }, 'description: '],
    [{ description: 'd', prompt: 'p' }, 'subagent_type: '],
    [{ ...args, subagent_type: 'x'.repeat(65) }, 'subagent_type: '],
  ])(
    'wrong arguments are a failed task that names the field, and nothing is handed over (%#)',
    async (wrong, field) => {
      const { subagents, asked } = port();

      const outcome = await taskTool(subagents, []).invoke(wrong, context());

      expect(asked).toEqual([]);
      expect(outcome.isError).toBe(true);
      expect(outcome.content).toMatch(new RegExp(`^Task failed\\. Error: Invalid arguments: ${field}`));
      expect(outcome.additionalKwargs).toMatchObject({ subagent_status: 'failed' });
    },
  );

  test('a description may be omitted: it is for the user only', async () => {
    const { subagents, asked } = port();

    await taskTool(subagents, []).invoke({ prompt: 'p', subagent_type: 'bash' }, context());

    expect(asked).toMatchObject([{ description: '' }]);
  });

  test('the end of the run passes through', async () => {
    const reason = new RunCancelled('interrupt');
    const subagents: SubagentPort = { types, delegate: () => Promise.reject(reason) };

    await expect(taskTool(subagents, []).invoke(args, context())).rejects.toBe(reason);
  });

  test('the description lists every kind and its purpose', () => {
    const { description, parameters } = taskTool(port().subagents, []);

    expect(description).toContain('Types: general-purpose (anything); bash (commands).');
    expect(parameters).toMatchObject({ required: ['prompt', 'subagent_type'] });
  });
});

test('a subagent is given the names of the tools of who asks, and of its skills where it is limited to some', async () => {
  const { subagents, asked } = port();
  await taskTool(subagents, ['ls', 'bash'], ['chart']).invoke(args, context());
  expect(asked[0]).toMatchObject({ tools: ['ls', 'bash'], skills: ['chart'] });
});

test('an agent that a skill restricts to some tools hands on no others', async () => {
  const { subagents, asked } = port();
  const run = fakeRun();
  const state = applyUpdate(
    { messages: [] },
    activeSkill.write({ name: 'chart', allowed_tools: ['task', 'bash'] }, run),
  );
  await taskTool(subagents, ['ls', 'bash']).invoke(args, { ...context(run), state });
  expect(asked[0]?.tools).toEqual(['bash']);
});
