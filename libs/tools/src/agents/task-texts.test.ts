import { createHash } from 'node:crypto';
import type { TaskCap } from '@caribou/contracts';
import type { TaskOutcome } from '@caribou/core';
import fc from 'fast-check';
import { taskOutcome } from './task-texts.js';

const usage = { input_tokens: 30, output_tokens: 12, total_tokens: 42 };
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe(taskOutcome, () => {
  test('a completed task gives its result, its digest and what it cost, and is no error', () => {
    expect(taskOutcome({ status: 'completed', text: 'It is 4.', usage, modelName: 'm-1' })).toEqual({
      content: 'Task Succeeded. Result: It is 4.',
      additionalKwargs: {
        subagent_status: 'completed',
        subagent_result_brief: 'It is 4.',
        subagent_result_sha256: sha256('It is 4.'),
        subagent_model_name: 'm-1',
        subagent_token_usage: usage,
      },
    });
  });

  test.each<[TaskCap, string]>([
    ['token_capped', 'token budget'],
    ['turn_capped', 'turn budget'],
    ['loop_capped', 'repeated tool-call loop'],
  ])('a task stopped as %s says so, whether it has a result or not', (stopReason, cap) => {
    const completed = taskOutcome({ status: 'completed', text: 'Half of it.', stopReason, usage: null });
    expect(completed.content).toBe(`Task Succeeded (capped: ${cap}). Result: Half of it.`);
    expect(completed.isError).toBeUndefined();
    expect(completed.additionalKwargs).toMatchObject({
      subagent_status: 'completed',
      subagent_stop_reason: stopReason,
    });

    const failed = taskOutcome({ status: 'failed', text: 'nothing said', stopReason, usage: null });
    expect(failed).toEqual({
      content: `Task failed (capped: ${cap}). Error: nothing said`,
      isError: true,
      additionalKwargs: {
        subagent_status: 'failed',
        subagent_error: 'nothing said',
        subagent_stop_reason: stopReason,
      },
    });
  });

  test.each<[TaskOutcome['status'], string, string]>([
    ['failed', 'the model is away', 'Task failed. Error: the model is away'],
    [
      'timed_out',
      'Execution timed out after 900 seconds',
      'Task timed out. Error: Execution timed out after 900 seconds',
    ],
    ['polling_timed_out', 'Task polling timed out after 16 minutes.', 'Task polling timed out after 16 minutes.'],
    ['cancelled', 'Task cancelled by user', 'Task cancelled by user.'],
  ])('a task that is %s is an error with its own text, with its status as a mark', (status, text, content) => {
    expect(taskOutcome({ status, text, usage: null })).toEqual({
      content,
      isError: true,
      additionalKwargs: { subagent_status: status, subagent_error: text },
    });
  });

  test('the partial result of a task that did not complete follows the error, labelled', () => {
    const { content, additionalKwargs } = taskOutcome({
      status: 'timed_out',
      text: 'Execution timed out after 1 seconds',
      partial: 'Found two of three.',
      usage,
    });

    expect(content).toBe(
      'Task timed out. Error: Execution timed out after 1 seconds\n\nPartial result, not finished:\nFound two of three.',
    );
    expect(additionalKwargs).toMatchObject({ subagent_error: 'Execution timed out after 1 seconds' });
  });

  test('an error next to the message is cut at 2000 characters, the message is not', () => {
    const text = 'x'.repeat(2_500);
    const { content, additionalKwargs } = taskOutcome({ status: 'failed', text, usage: null });

    expect(content).toBe(`Task failed. Error: ${text}`);
    expect(additionalKwargs?.['subagent_error']).toBe('x'.repeat(2_000));
  });

  test('the brief is the result up to 2000 characters, above them two thirds beginning and one third end', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 6_000 }), (length) => {
        const text = Array.from({ length }, (_, at) => String.fromCodePoint(0x4e00 + at)).join('');
        const marks = taskOutcome({ status: 'completed', text, usage: null }).additionalKwargs ?? {};
        const brief = String(marks['subagent_result_brief']);
        expect(marks['subagent_result_sha256']).toBe(sha256(text));
        if (length <= 2_000) {
          expect(brief).toBe(text);
          return;
        }
        expect(brief).toHaveLength(2_000);
        const [head = '', tail = ''] = brief.split('\n...\n');
        expect(text.startsWith(head)).toBe(true);
        expect(text.endsWith(tail)).toBe(true);
        expect(head).toHaveLength(1_330);
        expect(tail).toHaveLength(665);
      }),
      { numRuns: 50 },
    );
  });
});
