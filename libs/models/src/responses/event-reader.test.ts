import type { ModelDelta } from '@caribou/core';
import {
  callItem,
  eventsOf,
  itemEvents,
  messageItem,
  type OutputItem,
  reasoningItem,
  response,
  textContent,
} from '../testing/response-events.js';
import { EventReader } from './event-reader.js';

function readAll(events: readonly unknown[]): { deltas: ModelDelta[]; kinds: string[] } {
  const reader = new EventReader();
  const read = events.map((event) => reader.read(event));
  const deltas = read.flatMap((chunk) => (chunk.kind === 'delta' ? [chunk.delta] : []));
  return {
    deltas: reader.isFinished ? [...deltas, reader.last()] : deltas,
    kinds: read.map(({ kind }) => kind),
  };
}
const joined = (deltas: readonly ModelDelta[], key: 'content' | 'reasoning'): string =>
  deltas.map((delta) => delta[key] ?? '').join('');
const partsOf = (deltas: readonly ModelDelta[]): unknown[] => deltas.flatMap(({ extras }) => extras?.parts ?? []);
const answerTo = (output: readonly OutputItem[]): ModelDelta[] => readAll(eventsOf(output)).deltas;

describe('EventReader', () => {
  test('reads reasoning, text and parallel calls as they come, and the rest at the end', () => {
    const { deltas, kinds } = readAll(
      eventsOf(
        [
          reasoningItem('rs_1', ['Look', 'Then']),
          messageItem('msg_1', 'Hi'),
          callItem('fc_1', 'ls', '{"a":1}'),
          callItem('fc_2', 'pwd', ''),
        ],
        5,
      ),
    );

    const chunk = (index: number, args: string, name: string | null, id: string | null) => ({
      toolCallChunks: [{ name, id, args, index, type: 'tool_call_chunk' }],
    });
    const { encrypted_content, summary } = reasoningItem('rs_1', ['Look', 'Then']);
    expect(deltas).toEqual([
      { reasoning: 'Look' },
      { reasoning: '\n\nThen' },
      { extras: { parts: [{ type: 'reasoning', id: 'rs_1', summary, encrypted_content }] } },
      { content: 'Hi' },
      { extras: { parts: [{ type: 'message', id: 'msg_1', contents: ['output_text'], lead: 0 }, { text: 2 }] } },
      chunk(0, '', 'ls', 'call_of_fc_1'),
      chunk(0, '{"a":', null, null),
      chunk(0, '1}', null, null),
      { extras: { parts: [{ call: 0 }], calls: { 0: { id: 'fc_1', call_id: 'call_of_fc_1' } } } },
      chunk(1, '', 'pwd', 'call_of_fc_2'),
      { extras: { parts: [{ call: 1 }], calls: { 1: { id: 'fc_2', call_id: 'call_of_fc_2' } } } },
      {
        finishReason: 'tool_calls',
        usage: {
          input_tokens: 60,
          output_tokens: 94,
          total_tokens: 154,
          input_token_details: { cache_read: 40, cache_creation: 8 },
          output_token_details: { reasoning: 64 },
        },
        responseMetadata: { model_name: 'm-1-2026-04-16', id: 'resp_1' },
        extras: { message: { parts: 5 } },
      },
    ]);
    expect(kinds.at(-1)).toBe('end');
  });

  test('parts the texts of message items by a blank line, and counts it with the second', () => {
    const deltas = answerTo([
      messageItem('msg_1', 'First I look.', 'commentary'),
      messageItem('msg_2', [textContent('Done. '), { type: 'refusal', refusal: 'No more.' }], 'final_answer'),
    ]);

    expect(joined(deltas, 'content')).toBe('First I look.\n\nDone. No more.');
    expect(partsOf(deltas)).toEqual([
      { type: 'message', id: 'msg_1', phase: 'commentary', contents: ['output_text'], lead: 0 },
      { text: 13 },
      { type: 'message', id: 'msg_2', phase: 'final_answer', contents: ['output_text', 'refusal'], lead: 2 },
      { text: 8 },
      { text: 8 },
    ]);
    expect(deltas.at(-1)).toMatchObject({ finishReason: 'stop', extras: { message: { parts: 5 } } });
  });

  test('reads the reasoning of open models, which is text and not a summary', () => {
    const part = { item_id: 'rs_1', output_index: 0, content_index: 0 };
    const item = { id: 'rs_1', type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hmm' }] };
    const { deltas } = readAll([
      { type: 'response.reasoning_text.delta', delta: 'hm', ...part },
      { type: 'response.reasoning_text.delta', delta: 'm', ...part },
      { type: 'response.output_item.done', output_index: 0, item: { ...item, status: 'completed' } },
    ]);

    expect(joined(deltas, 'reasoning')).toBe('hmm');
    expect(partsOf(deltas)).toEqual([item]);
  });

  test('takes what a server did not stream from the complete items', () => {
    const items = [
      reasoningItem('rs_1', ['Why', 'not']),
      messageItem('msg_1', [textContent('Hi'), { type: 'refusal', refusal: ' no' }]),
      callItem('fc_1', 'ls', '{}'),
    ];
    const { deltas } = readAll(
      items.map((item, at) => ({ type: 'response.output_item.done', output_index: at, item })),
    );

    expect([joined(deltas, 'reasoning'), joined(deltas, 'content')]).toEqual(['Why\n\nnot', 'Hi no']);
    expect(deltas.flatMap(({ toolCallChunks = [] }) => toolCallChunks)).toEqual([
      { name: 'ls', id: 'call_of_fc_1', args: '{}', index: 0, type: 'tool_call_chunk' },
    ]);
  });

  test('keeps items of tools of the provider as they are', () => {
    const search = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } };
    const { deltas } = readAll([
      { type: 'response.web_search_call.searching', output_index: 0, item_id: 'ws_1' },
      { type: 'response.output_item.done', output_index: 0, item: search },
    ]);
    expect(deltas).toEqual([{ extras: { parts: [search] } }]);
  });

  test('has no count of parts for an output that is not whole or not in order', () => {
    const [one, two] = [messageItem('msg_1', 'One'), messageItem('msg_2', 'Two')];
    const completed = { type: 'response.completed', response: response({ status: 'completed', output: [one, two] }) };
    const text = (item: number) => ({ type: 'response.output_text.delta', output_index: item, delta: 'x' });
    const done = (item: number) => ({ type: 'response.output_item.done', output_index: item, item: [one, two][item] });
    const streams = [
      [...itemEvents(one, 0), completed],
      [...itemEvents(two, 1), ...itemEvents(one, 0), completed],
      [text(0), text(1), text(0), done(0), done(1), completed],
    ];
    for (const events of streams) {
      const last = readAll(events).deltas.at(-1);
      expect(last).toMatchObject({ finishReason: 'stop' });
      expect(last).not.toHaveProperty('extras');
    }
  });

  const ends: [string, object, string][] = [
    ['max_output_tokens', { reason: 'max_output_tokens' }, 'length'],
    ['content_filter', { reason: 'content_filter' }, 'content_filter'],
    ['no reason', {}, 'length'],
  ];
  test.each(ends)(
    'an incomplete response with %s ends with its finish reason, and its parts do not count',
    (...row) => {
      const [, incomplete_details, finishReason] = row;
      const { deltas } = readAll([
        ...itemEvents(messageItem('msg_1', 'Half'), 0),
        {
          type: 'response.incomplete',
          response: { ...response({ status: 'incomplete' }), incomplete_details, usage: { input_tokens: 1 } },
        },
      ]);
      expect(joined(deltas, 'content')).toBe('Half');
      expect(deltas.at(-1)).toEqual({
        finishReason,
        responseMetadata: { model_name: 'm-1-2026-04-16', id: 'resp_1' },
      });
    },
  );

  test('gives the error of a failed response or of an error event, however it is nested', () => {
    const error = { code: 'rate_limit_exceeded', message: 'slow down' };
    const failed = (value: unknown) => ({ type: 'response.failed', response: { status: 'failed', error: value } });
    const events = [
      failed(error),
      { type: 'error', ...error, param: null, sequence_number: 1 },
      { type: 'error', error: { type: 'tokens', ...error }, sequence_number: 1 },
    ];
    for (const event of events) expect(new EventReader().read(event)).toEqual({ kind: 'error', error });
    const unknown = { code: 'server_error', message: 'the response failed' };
    for (const event of [failed(null), { type: 'response.failed' }])
      expect(new EventReader().read(event)).toEqual({ kind: 'error', error: unknown });
  });

  test('ignores unknown events and empty deltas, and is not finished by them', () => {
    const reader = new EventReader();
    const ignored = [
      {},
      { type: 'response.queued' },
      { type: 'response.some_future.delta', delta: 'x', output_index: 0 },
      { type: 'response.output_text.delta', delta: '', output_index: 0 },
      { type: 'response.output_text.delta', output_index: 0 },
      { type: 'response.reasoning_summary_text.delta', delta: 7 },
      { type: 'response.function_call_arguments.delta', delta: '{}', output_index: 4 },
      { type: 'response.output_item.added' },
    ];
    for (const event of ignored) expect(reader.read(event)).toEqual({ kind: 'nothing' });
    expect([reader.isFinished, reader.last()]).toEqual([false, {}]);
  });

  test('anything but an object, an end without a response, and more than 128 calls are malformed', () => {
    const item = { type: 'response.output_item.done' };
    for (const wrong of [undefined, null, 'x', [], item, { type: 'response.completed' }])
      expect(new EventReader().read(wrong)).toEqual({ kind: 'malformed' });
    const added = Array.from({ length: 129 }, (_, at) => ({
      type: 'response.output_item.added',
      output_index: at,
      item: callItem(`fc_${at}`, 'ls', ''),
    }));
    const { kinds } = readAll(added);
    expect([kinds.at(-2), kinds.at(-1)]).toEqual(['delta', 'malformed']);
  });
});
