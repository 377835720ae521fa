import { type AnyTool, defineTool, type ToolCallRequest } from '@caribou/core';
import { fakeRun } from '@caribou/testing';
import { z } from 'zod';
import { clarification, clarificationOutcome, parseOptions } from './clarification.js';

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
  test('the call is answered in the place of the tool, and ends the run', async () => {
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

  test('arguments of any shape make an answer', () => {
    for (const args of [{}, { question: 7, options: 9 }, { question: null, context: [], options: { a: { b: 1 } } }]) {
      expect(clarificationOutcome('c1', args)).toMatchObject({ end: true });
    }
  });
});

describe(parseOptions, () => {
  test.each<[string, unknown]>([
    ['a list', ['A', 'B']],
    ['objects', [{ label: 'A' }, { value: 'B' }]],
    ['a JSON string', '["A", "B"]'],
    ['an object', { first: 'A', second: 'B' }],
    ['a wrapped list', { options: ['A', 'B'] }],
    ['a wrapped list as JSON', '{"options": ["A", "B"]}'],
    ['elements', '<options><option>A</option><option id="2">B</option></options>'],
    ['lines with marks', '1. A\n- B\n'],
    ['repeated and empty entries', ['A', '', 'B', 'A', ' ']],
  ])('%s is read', (_what, value) => {
    expect(parseOptions(value)).toEqual(['A', 'B']);
  });

  test('there are at most 24 options of at most 200 characters', () => {
    const options = parseOptions(Array.from({ length: 40 }, (_, index) => `${index} ${'x'.repeat(300)}`));

    expect(options).toHaveLength(24);
    expect(options.every((label) => label.length <= 200)).toBe(true);
  });

  test.each([undefined, null, 7, '', '{broken', [null, 7n]])('%p gives no more than text', (value) => {
    expect(() => parseOptions(value)).not.toThrow();
  });
});
