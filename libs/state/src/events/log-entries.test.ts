import type { RunEvent, RunEventOf } from '@caribou/contracts';
import fc from 'fast-check';
import { eventsOfEntry, logEntries } from './log-entries.js';

type Delta = RunEventOf<'message.delta'>;

const delta = (fields: Partial<Delta>): Delta => ({
  kind: 'message.delta',
  node: 'model_request',
  step: 1,
  message_id: 'm1',
  content: '',
  ...fields,
});
const args = (text: string, index = 0, names: { name: string | null; id: string | null } = { name: null, id: null }) =>
  delta({ tool_call_chunks: [{ ...names, args: text, index, type: 'tool_call_chunk' }] });

/** The events as readers of the log get them. */
function readBack(events: readonly RunEvent[], compact = true): RunEvent[] {
  let seq = 0;
  return logEntries(events, { compact }).flatMap(({ text, events: count }) => {
    seq += count;
    const read = eventsOfEntry(seq, text);
    expect(read.map((event) => event.seq)).toEqual(
      Array.from({ length: count }, (_, index) => seq - count + 1 + index),
    );
    return read.map(({ event }) => event);
  });
}

describe(logEntries, () => {
  test('pieces of one text share an entry; the others have their own', () => {
    const events = [
      delta({ content: 'a' }),
      delta({ content: 'b' }),
      delta({ reasoning: 'why' }),
      delta({ reasoning: ' so' }),
      args('', 0, { name: 'bash', id: 'call-1' }),
      args('{"a":'),
      args('1}'),
      args('{}', 1),
      delta({ content: 'c', message_id: 'm2' }),
      delta({ content: 'd', message_id: 'm2', usage: { output_tokens: 1 } }),
      { kind: 'custom', data: 1 } as const,
    ];
    expect(logEntries(events, { compact: false }).map((entry) => entry.events)).toEqual([2, 2, 1, 2, 1, 1, 1, 1]);
    expect(readBack(events, false)).toEqual(events);
  });

  test('short events are a list in one entry, long ones have their own', () => {
    const events = ['a', 'b', 'x'.repeat(16_384), 'c', 'y'.repeat(9_000), 'z'.repeat(9_000)].map((data) => ({
      kind: 'custom' as const,
      data,
    }));
    expect(logEntries(events, { compact: true }).map((entry) => entry.events)).toEqual([2, 1, 2, 1]);
    expect(readBack(events)).toEqual(events);
  });

  test('an entry has at most 16 Ki UTF-16 units of text and 256 pieces', () => {
    const long = ['x'.repeat(16_000), 'y'.repeat(384), 'z'].map((content) => delta({ content }));
    expect(logEntries(long, { compact: false }).map((entry) => entry.events)).toEqual([2, 1]);
    const many = Array.from({ length: 300 }, () => delta({ content: 'x' }));
    expect(logEntries(many, { compact: false }).map((entry) => entry.events)).toEqual([256, 44]);
  });

  test('whatever is written is what is read, also text whose characters are cut in two', () => {
    const text = fc.string({ unit: 'binary', maxLength: 5 });
    const anyDelta = fc.oneof(
      text.map((content) => delta({ content })),
      text.map((reasoning) => delta({ reasoning })),
      fc.tuple(text, fc.nat(1)).map(([piece, index]) => args(piece, index)),
      fc.tuple(text, text).map(([content, reasoning]) => delta({ content, reasoning })),
      fc.constantFrom(delta({ content: '\ud83d' }), delta({ content: '\ude00' })),
    );
    fc.assert(
      fc.property(fc.array(anyDelta, { maxLength: 20 }), (events) => {
        expect(readBack(events)).toEqual(events);
        expect(readBack(events, false)).toEqual(events);
      }),
    );
  });

  test('an entry of an earlier version is one event', () => {
    expect(eventsOfEntry(7, JSON.stringify(delta({ content: 'ab' })))).toEqual([
      { seq: 7, event: delta({ content: 'ab' }) },
    ]);
  });
});
