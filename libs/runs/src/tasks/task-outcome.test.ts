import type { AiMessage, CheckpointView, Message, RunRecord, RunStatus } from '@caribou/contracts';
import type { TaskOutcome } from '@caribou/core';
import { ai, human, sampleTask, taskRecord } from '@caribou/testing';
import { endEventOf, outcomeOf, taskSpecOf, usageOf } from './task-outcome.js';

const record = (over: Partial<RunRecord>): RunRecord => taskRecord(undefined, over);
const headOf = (...messages: readonly Message[]): CheckpointView => ({
  checkpointId: 'c',
  parentId: null,
  createdAt: '',
  next: [],
  metadata: { source: 'loop', step: 1, parents: {} },
  state: { messages: [...messages] },
});
const asks = (text: string): AiMessage => ({
  ...ai(text),
  tool_calls: [{ name: 'bash', args: {}, id: 'c', type: 'tool_call' }],
});
const error = (message: string) => ({ name: 'ModelError', message });

describe(outcomeOf, () => {
  test('of a task that succeeded is the last text of its agent, with its usage and its model', () => {
    const run = record({ status: 'success', total_input_tokens: 30, total_output_tokens: 12, total_tokens: 42 });

    expect(outcomeOf(run, headOf(human('Do it.'), asks('Looking.'), ai('It is 4.')))).toEqual({
      status: 'completed',
      text: 'It is 4.',
      modelName: 'm',
      usage: { input_tokens: 30, output_tokens: 12, total_tokens: 42 },
    });
  });

  test('joins the parts of a text and skips empty answers', () => {
    const parts: AiMessage = {
      ...ai(''),
      content: [
        { type: 'text', text: 'one' },
        { type: 'text', text: ' two' },
      ],
    };

    expect(outcomeOf(record({ status: 'success' }), headOf(parts, ai(' \n'))).text).toMatch(/^one\s+two$/);
  });

  test.each([
    ['an empty thread', headOf()],
    ['only the prompt', headOf(human('Do it.'))],
    ['no thread', null],
  ])('of success with %s says that there was no response', (_, head) => {
    expect(outcomeOf(record({ status: 'success' }), head)).toMatchObject({
      status: 'completed',
      text: 'No response generated',
      usage: null,
    });
  });

  test.each([
    ['token_capped', 'token_capped'],
    ['loop_capped', 'loop_capped'],
    ['recursion_limit', 'turn_capped'],
  ] as const)('of a task stopped as %s is what it has, as completed with its cap', (stop_reason, stopReason) => {
    for (const status of ['success', 'error'] as const) {
      const run = record({ status, stop_reason, error: status === 'error' ? error('stopped') : null });
      expect(outcomeOf(run, headOf(ai('Half.'), ai('stopped')))).toMatchObject({
        status: 'completed',
        stopReason,
        text: status === 'error' ? 'Half.' : 'stopped',
      });
    }
  });

  test('of a task stopped at a limit before any text is a failure with its cap', () => {
    const run = record({ status: 'error', stop_reason: 'recursion_limit', error: error('too many turns') });

    expect(outcomeOf(run, headOf(human('Do it.'), asks(''), ai('too many turns')))).toEqual({
      status: 'failed',
      text: expect.stringMatching(/^no result within \d+ model turns$/),
      stopReason: 'turn_capped',
      usage: null,
      modelName: 'm',
    });
  });

  test('other reasons to stop are not caps of a task', () => {
    const outcome = outcomeOf(record({ status: 'success', stop_reason: 'safety_finish' }), headOf(ai('x')));

    expect(outcome).not.toHaveProperty('stopReason');
  });

  test.each<[RunStatus, string | null, TaskOutcome['status'], string]>([
    ['error', 'the model is away', 'failed', 'the model is away'],
    ['error', null, 'failed', 'the task ended as error'],
    ['timeout', 'Execution timed out after 9 seconds', 'timed_out', 'Execution timed out after 9 seconds'],
    ['interrupted', null, 'cancelled', 'Task cancelled by user'],
  ])(
    'of a task that ended as %s (%s) is %s, with its text so far as the partial result',
    (status, message, as, text) => {
      const run = record({ status, error: message === null ? null : error(message) });

      expect(outcomeOf(run, headOf(asks('I look.')))).toEqual({
        status: as,
        text,
        partial: 'I look.',
        usage: null,
        modelName: 'm',
      });
      expect(outcomeOf(run, headOf(human('Do it.')))).not.toHaveProperty('partial');
    },
  );
});

describe(endEventOf, () => {
  const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };

  test.each<[TaskOutcome['status'], Record<string, unknown>]>([
    ['completed', { type: 'task_completed', result: 'x' }],
    ['failed', { type: 'task_failed', error: 'x' }],
    ['timed_out', { type: 'task_timed_out', error: 'x' }],
    ['polling_timed_out', { type: 'task_timed_out' }],
    ['cancelled', { type: 'task_cancelled', error: 'x' }],
  ])('%s is published with exactly these fields', (status, event) => {
    expect(endEventOf('call_1', { status, text: 'x', partial: 'y', usage, modelName: 'm' })).toEqual({
      ...event,
      task_id: 'call_1',
      usage,
      model_name: 'm',
    });
    expect(endEventOf('call_1', { status, text: 'x', usage: null })).toEqual({
      ...event,
      task_id: 'call_1',
      usage: null,
    });
  });
});

test('the spec of a record that another version wrote is undefined', () => {
  const task = sampleTask();

  expect(taskSpecOf(taskRecord(task))).toEqual(task.spec);
  expect(taskSpecOf(record({ metadata: {} }))).toBeUndefined();
  expect(taskSpecOf(record({ metadata: { task: { ...task.spec, model: 7 } } }))).toBeUndefined();
});

test('usage is null while no provider reported any', () => {
  expect(usageOf(record({}))).toBeNull();
});
