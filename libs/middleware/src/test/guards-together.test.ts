import { runAgent } from '@caribou/agent';
import { type AnyTool, defineTool } from '@caribou/core';
import {
  type Cut,
  fakeRun,
  humanMessage,
  runWithCuts,
  type ScriptedAnswer,
  scriptedModel,
  transcriptFaults,
} from '@caribou/testing';
import fc from 'fast-check';
import { z } from 'zod';
import { loopDetection } from '../limits/loop-detection.js';
import { subagentLimit } from '../limits/subagent-limit.js';
import { todo } from '../conversation/todo.js';
import { tokenBudget } from '../limits/token-budget.js';

/** The guards in the order of the lead chain. */
const chain = [
  todo(),
  subagentLimit({ max_concurrent: 2, max_total_per_run: 3 }),
  loopDetection({
    warn_threshold: 2,
    hard_limit: 3,
    window_size: 8,
    tool_freq_warn: 5,
    tool_freq_hard_limit: 8,
    tool_freq_overrides: {},
  }),
  tokenBudget({
    max_tokens: 100,
    max_input_tokens: null,
    max_output_tokens: null,
    warn_threshold: 0.8,
    hard_stop_threshold: 1,
  }),
];
const tool = (name: string): AnyTool =>
  defineTool({ name, description: '', input: z.looseObject({}), run: () => Promise.resolve({ content: 'ok' }) });

async function runScript(script: readonly ScriptedAnswer[], cuts: readonly Cut[]) {
  const model = scriptedModel(script);
  const { outcome } = await runWithCuts({ messages: [humanMessage('go', 'h')] }, cuts, ({ attempt, ...place }) =>
    runAgent({
      ...place,
      chain,
      model,
      tools: [tool('bash'), tool('task')],
      systemPrompt: '',
      options: { maxTurns: 60 },
      run: fakeRun({ attempt }),
    }),
  );
  return { outcome, model, messages: outcome.last.state.messages };
}

test('guards do not get into each other: every request is legal, the run ends by its reason, however often it is taken over', async () => {
  const todos = [{ content: 'x', status: 'pending' }];
  const call = fc.constantFrom(
    { name: 'bash', args: { command: 'a' } },
    { name: 'bash', args: { command: 'b' } },
    { name: 'task', args: {} },
    { name: 'write_todos', args: { todos } },
    { name: 'bash', args: '{"cut' },
  );
  const answer = fc.record({
    content: fc.constantFrom('', 'x'),
    calls: fc.array(call, { maxLength: 4 }),
    usage: fc.nat(30).map((input) => ({ input_tokens: input, output_tokens: 1, total_tokens: input + 1 })),
  });
  const cut: fc.Arbitrary<Cut> = fc.record({
    kind: fc.constant('death' as const),
    commit: fc.integer({ min: 1, max: 6 }),
    written: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(answer, { maxLength: 12 }), fc.array(cut, { maxLength: 3 }), async (script, cuts) => {
      const legible = script.map((entry) => ({
        ...entry,
        calls: entry.calls.filter(({ args }) => typeof args !== 'string'),
      }));
      const undisturbed = await runScript(script, []);
      const disturbed = await runScript(script, cuts);
      const legal = await runScript(legible, cuts);

      expect(undisturbed.outcome.kind).toBe('finished');
      expect({ ...disturbed.outcome, last: {} }).toEqual({ ...undisturbed.outcome, last: {} });
      expect(disturbed.messages.map(({ content }) => content)).toEqual(
        undisturbed.messages.map(({ content }) => content),
      );
      for (const { messages } of legal.model.calls) expect(transcriptFaults(messages)).toEqual([]);
      expect(transcriptFaults(legal.messages)).toEqual([]);
    }),
    { numRuns: 60 },
  );
});
