import type { RunEvent } from '@caribou/contracts';
import fc from 'fast-check';
import { coalesce } from './coalesce.js';

const delta = fc.record({
  kind: fc.constant('message.delta' as const),
  node: fc.constant('model_request'),
  step: fc.constant(1),
  message_id: fc.constantFrom('m1', 'm2'),
  content: fc.string(),
  reasoning: fc.string(),
  tool_call_chunks: fc.array(
    fc.record({
      name: fc.constant(null),
      id: fc.constant(null),
      args: fc.string(),
      index: fc.integer({ min: 0, max: 2 }),
      type: fc.constant('tool_call_chunk' as const),
    }),
    { maxLength: 3 },
  ),
});
const other = fc.record({ kind: fc.constant('custom' as const), data: fc.integer() });

function concatenated(events: readonly RunEvent[]): unknown {
  const byMessage: Record<string, { content: string; reasoning: string; args: Record<number, string> }> = {};
  for (const event of events) {
    if (event.kind !== 'message.delta') continue;
    const seen = (byMessage[event.message_id] ??= { content: '', reasoning: '', args: {} });
    seen.content += event.content;
    seen.reasoning += event.reasoning ?? '';
    for (const chunk of event.tool_call_chunks ?? [])
      seen.args[chunk.index] = (seen.args[chunk.index] ?? '') + chunk.args;
  }
  return byMessage;
}

describe(coalesce, () => {
  test('concatenations per message and per tool call are the same before and after', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(delta, other)), (events) => {
        expect(concatenated(coalesce(events))).toEqual(concatenated(events));
      }),
    );
  });

  test('events that are no deltas keep their number and their order', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(delta, other)), (events) => {
        const customs = (list: readonly RunEvent[]) => list.filter((event) => event.kind === 'custom');
        expect(customs(coalesce(events))).toEqual(customs(events));
      }),
    );
  });

  test('a delta with usage is never joined, as clients add the numbers up', () => {
    const text: RunEvent = { kind: 'message.delta', node: 'model_request', step: 1, message_id: 'm1', content: 'a' };
    const usage: RunEvent = { ...text, content: '', usage: { input_tokens: 1 } };

    expect(coalesce([text, usage, text])).toEqual([text, usage, text]);
  });

  test('forty deltas in one burst become three', () => {
    const burst = Array.from(
      { length: 40 },
      (_, index): RunEvent => ({
        kind: 'message.delta',
        node: 'model_request',
        step: 1,
        message_id: 'm1',
        content: `t${index} `,
      }),
    );

    expect(coalesce(burst)).toHaveLength(3);
  });
});
