import { type AnyTool, defineTool, type ToolCallRequest } from '@caribou/core';
import { fakeRun } from '@caribou/testing';
import { z } from 'zod';
import { clarification, clarificationOutcome } from './clarification.js';

const asking: AnyTool = defineTool({
  name: 'ask_clarification',
  description: '',
  input: z.object({}),
  run: () => Promise.reject(new Error('the tool itself must not run')),
});
const call = (name: string, tool: AnyTool | undefined): ToolCallRequest => ({
  call: { name, args: { question: 'Which one?' }, id: 'c1', type: 'tool_call' },
  tool,
  state: { messages: [] },
});

describe(clarification, () => {
  test('the call is answered instead of the tool, and ends the run', async () => {
    const outcome = await clarification().wrapToolCall?.(
      call('ask_clarification', asking),
      () => Promise.reject(new Error('next was called')),
      fakeRun(),
    );

    expect(outcome).toMatchObject({ content: '❓ Which one?', end: true, messageId: 'clarification:c1' });
  });

  test('other calls pass, and a tool that does not exist is not answered either', async () => {
    const passed = { content: 'passed' };
    const next = () => Promise.resolve(passed);

    await expect(clarification().wrapToolCall?.(call('bash', undefined), next, fakeRun())).resolves.toBe(passed);
    await expect(clarification().wrapToolCall?.(call('ask_clarification', undefined), next, fakeRun())).resolves.toBe(
      passed,
    );
  });
});

describe('a run in which nobody can be asked', () => {
  const answered = (layer: ReturnType<typeof clarification>, run = fakeRun()) =>
    layer.wrapToolCall?.(call('ask_clarification', asking), () => Promise.reject(new Error('next')), run);

  test('the model is asked to make assumptions, and the run continues', async () => {
    const run = fakeRun({ context: { disable_clarification: true } });

    const outcome = await answered(clarification(), run);

    expect(outcome?.content).toMatch(/Go on with the most reasonable assumptions/);
    expect(outcome).not.toHaveProperty('end');
    expect(outcome).not.toHaveProperty('artifact');
    expect(run.decisions).toEqual(['clarification: assumptions']);
  });

  test('a call that comes although the tool is not offered is answered in the same way', async () => {
    expect(await answered(clarification({ enabled: false }))).toEqual(
      await answered(clarification(), fakeRun({ context: { disable_clarification: true } })),
    );
  });

  test('otherwise the run ends with the question', async () => {
    const run = fakeRun({ context: { disable_clarification: false } });

    expect(await answered(clarification(), run)).toMatchObject({ end: true });
    expect(run.decisions).toEqual(['clarification: asked']);
  });
});

describe(clarificationOutcome, () => {
  test('text and data of a choice with context', () => {
    const outcome = clarificationOutcome('c1', {
      question: 'Which database?',
      clarification_type: 'approach_choice',
      context: 'Both would do.',
      options: ['Postgres', 'SQLite'],
    });

    expect(outcome.content).toBe('🔀 Both would do.\n\nWhich database?\n\n  1. Postgres\n  2. SQLite');
    expect(outcome.artifact).toEqual({
      human_input: {
        version: 1,
        kind: 'human_input_request',
        source: 'ask_clarification',
        request_id: 'clarification:c1',
        tool_call_id: 'c1',
        clarification_type: 'approach_choice',
        question: 'Which database?',
        context: 'Both would do.',
        input_mode: 'choice_with_other',
        options: [
          { id: 'option-1', label: 'Postgres', value: 'Postgres' },
          { id: 'option-2', label: 'SQLite', value: 'SQLite' },
        ],
      },
    });
  });

  test('without options the answer is free text', () => {
    const outcome = clarificationOutcome('c1', { question: 'Where to?', clarification_type: 'nonsense' });

    expect(outcome.content).toBe('❓ Where to?');
    expect(outcome.artifact).toMatchObject({ human_input: { input_mode: 'free_text' } });
    expect(outcome.artifact).not.toHaveProperty('human_input.options');
  });

  test.each([
    ['missing_info', '❓'],
    ['ambiguous_requirement', '🤔'],
    ['approach_choice', '🔀'],
    ['risk_confirmation', '⚠️'],
    ['suggestion', '💡'],
  ])('%s has the icon %s', (clarification_type, icon) => {
    expect(clarificationOutcome('c1', { question: 'Q', clarification_type }).content).toBe(`${icon} Q`);
  });

  test('a form is data of version 2 and numbered lines of text, and takes precedence over options', () => {
    const fields = [
      { name: 'amount', label: 'Amount', type: 'number', required: true, placeholder: 'in euros' },
      { name: 'kind', label: 'Kind', type: 'select', options: ['travel', 'food'] },
    ];
    const outcome = clarificationOutcome('c1', { question: 'What was it?', fields, options: ['left', 'out'] });

    expect(outcome.content).toBe(
      '❓ What was it?\n\n  1. Amount (a number; required)\n  2. Kind (one of: travel, food)',
    );
    expect(outcome.artifact).toMatchObject({
      human_input: {
        version: 2,
        input_mode: 'form',
        fields: [
          { name: 'amount', label: 'Amount', type: 'number', required: true, placeholder: 'in euros' },
          {
            name: 'kind',
            label: 'Kind',
            type: 'select',
            required: false,
            options: [
              { id: 'option-1', label: 'travel', value: 'travel' },
              { id: 'option-2', label: 'food', value: 'food' },
            ],
          },
        ],
      },
    });
    expect(outcome.artifact).not.toHaveProperty('human_input.options');
  });

  test('a form with one invalid field is text of version 1, in which every field is still asked for', () => {
    const fields = [
      { name: 'a', label: 'First', type: 'text' },
      { name: 'b', label: 'Second', type: 'signature' },
    ];
    const outcome = clarificationOutcome('c1', { question: 'Q', fields });

    expect(outcome.content).toBe('❓ Q\n\n  1. First\n  2. Second');
    expect(outcome.artifact).toMatchObject({ human_input: { version: 1, input_mode: 'free_text' } });
    expect(outcome.artifact).not.toHaveProperty('human_input.fields');
  });

  test.each(['constructor', '__proto__', 'toString'])('the type %s has the default icon', (clarification_type) => {
    expect(clarificationOutcome('c1', { question: 'Q', clarification_type }).content).toBe('❓ Q');
  });

  test('arguments of any shape make an answer', () => {
    for (const args of [{}, { question: 7, options: 9 }, { question: null, context: [], options: { a: { b: 1 } } }]) {
      expect(clarificationOutcome('c1', args)).toMatchObject({ end: true });
    }
  });
});
