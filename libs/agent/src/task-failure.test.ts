import type { InvalidToolCall, RunEvent, ToolCall } from '@caribou/contracts';
import type { AgentMiddleware, AnyTool, SubagentPort } from '@caribou/core';
import { leadChain } from '@caribou/middleware';
import { fakeRun, fakeSandbox, scriptedModel } from '@caribou/testing';
import { leadTools, taskTool } from '@caribou/tools';
import { executeToolCalls } from './execute-tool-calls.js';

const broken: SubagentPort = {
  types: [{ name: 'general-purpose', description: 'anything' }],
  delegate: () => Promise.reject(new TypeError('no way out')),
};
const args = { description: 'look', prompt: 'Look.', subagent_type: 'general-purpose' };
const call = (name: string): ToolCall => ({ name, args, id: 'c1', type: 'tool_call' });
const withTask = [...leadTools({ sandbox: fakeSandbox() }), taskTool(broken, [])];
const ofLead = leadChain({ sandbox: fakeSandbox(), model: scriptedModel([]) });
const withoutTask = leadTools({ sandbox: fakeSandbox() });

interface Given {
  readonly call?: ToolCall;
  readonly invalid?: InvalidToolCall;
  readonly tools?: readonly AnyTool[];
  readonly chain?: readonly AgentMiddleware[];
}

/** The message a call is answered with, and what its watchers are told of it. */
async function answerTo({ call: valid, invalid, tools = withTask, chain = ofLead }: Given) {
  const run = fakeRun();
  const calls = {
    valid: valid === undefined ? [] : [valid],
    invalid: invalid === undefined ? [] : [invalid],
  };
  const [result] = await executeToolCalls({ chain, tools, run, state: { messages: [] }, step: 1, calls });
  const told: readonly RunEvent[] = run.events;
  return { message: result?.update.messages?.[0], told };
}

const failed = (text: string) => ({
  type: 'tool',
  id: 'tool:c1',
  name: 'task',
  tool_call_id: 'c1',
  status: 'error',
  response_metadata: {},
  content: `Task failed. Error: ${text}`,
  additional_kwargs: { subagent_status: 'failed', subagent_error: text },
});

describe('a task call that fails on its way', () => {
  test('by an exception is answered in the words and marks of a failed task, to watchers too', async () => {
    const text =
      "Tool 'task' failed with TypeError: no way out. Continue with the available context, or choose another tool.";
    const { message, told } = await answerTo({ call: call('task') });

    expect(message).toEqual(failed(text));
    expect(told.at(-1)).toEqual({
      kind: 'tool.error',
      tool_call_id: 'c1',
      name: 'task',
      error: `Task failed. Error: ${text}`,
    });
  });

  test('by arguments that are no JSON is answered so', async () => {
    const invalid: InvalidToolCall = {
      type: 'invalid_tool_call',
      id: 'c1',
      name: 'task',
      args: '{"prompt":',
      error: 'The arguments are not valid JSON.',
    };
    const { message } = await answerTo({ invalid });

    expect(message).toEqual(
      failed("Tool 'task' was not called. The arguments are not valid JSON. Call it again with valid arguments."),
    );
  });

  test('for want of the tool is answered so', async () => {
    const { message } = await answerTo({ call: call('task'), tools: withoutTask });

    expect(message).toMatchObject({
      content: expect.stringMatching(
        /^Task failed\. Error: Tool 'task' does not exist\. Available tools: ls, /,
      ) as string,
      additional_kwargs: { subagent_status: 'failed' },
    });
  });

  test('by a refusal of a custom middleware is answered so, and keeps its marks', async () => {
    const refuses: AgentMiddleware = {
      name: 'refuses',
      wrapToolCall: () => Promise.resolve({ content: 'not now', isError: true, additionalKwargs: { mine: 1 } }),
    };
    const { message } = await answerTo({ call: call('task'), chain: [refuses] });

    expect(message).toEqual({
      ...failed('not now'),
      additional_kwargs: { mine: 1, subagent_status: 'failed', subagent_error: 'not now' },
    });
  });

  test('as a task is left as it was told', async () => {
    const ends: SubagentPort = {
      ...broken,
      delegate: () => Promise.resolve({ status: 'timed_out', text: 'too long', usage: null }),
    };
    const { message } = await answerTo({
      call: call('task'),
      tools: [taskTool(ends, [])],
    });

    expect(message).toMatchObject({
      content: 'Task timed out. Error: too long',
      additional_kwargs: { subagent_status: 'timed_out' },
    });
  });

  test('is told apart from other tools, whose errors stay as they are', async () => {
    const { message } = await answerTo({ call: call('tusk') });

    expect(message).toMatchObject({
      content: expect.stringMatching(/^Error: Tool 'tusk' does not exist/) as string,
      additional_kwargs: {},
    });
  });
});
