import type { ModelDelta } from '@caribou/core';
import { block, callBlock, messageEnd, messageStart, textBlock } from '../testing/claude.js';
import { EventReader } from './event-reader.js';

/** Reads the events of an answer; returns its deltas, with the last one. */
function readAll(...events: readonly unknown[]): ModelDelta[] {
  const reader = new EventReader();
  const deltas = events.flatMap((event) => {
    const read = reader.read(event);
    if (read.kind === 'malformed' || read.kind === 'error') throw new Error(read.kind);
    return read.kind === 'delta' ? [read.delta] : [];
  });
  return [...deltas, reader.last()];
}

const thinking = (index: number, text: readonly string[], signature: readonly string[]) =>
  block(
    index,
    { type: 'thinking', thinking: '', signature: '' },
    ...text.map((piece) => ({ type: 'thinking_delta', thinking: piece })),
    ...signature.map((piece) => ({ type: 'signature_delta', signature: piece })),
  );

describe('EventReader', () => {
  test('shows thoughts, text and calls as they come, and ends with the blocks to send back', () => {
    const deltas = readAll(
      messageStart(),
      ...thinking(0, ['Let ', 'me see'], ['EqQ', 'Bsig==']),
      { type: 'ping' },
      ...textBlock(1, 'Grüße', ' 🦌'),
      ...callBlock(2, 'toolu_01D7FLrfh4GYq7yT1ULFeyMV', 'bash', '', '{"com', 'mand":"ls"}'),
      ...callBlock(3, 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', 'now'),
      ...messageEnd('tool_use', {}, { output_tokens: 42, output_tokens_details: { thinking_tokens: 30 } }),
    );
    const chunk = (index: number, args: string, id: string | null = null, name: string | null = null) => ({
      toolCallChunks: [{ index, args, id, name, type: 'tool_call_chunk' }],
    });
    expect(deltas).toEqual([
      { reasoning: 'Let ' },
      { reasoning: 'me see' },
      { content: 'Grüße' },
      { content: ' 🦌' },
      chunk(0, '', 'toolu_01D7FLrfh4GYq7yT1ULFeyMV', 'bash'),
      chunk(0, '{"com'),
      chunk(0, 'mand":"ls"}'),
      chunk(1, '', 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', 'now'),
      {
        finishReason: 'tool_calls',
        usage: {
          input_tokens: 3212,
          output_tokens: 42,
          total_tokens: 3254,
          input_token_details: { cache_read: 3000, cache_creation: 200 },
          output_token_details: { reasoning: 30 },
        },
        responseMetadata: { model_name: 'claude-opus-5-5', id: 'msg_01ABC', stop_reason: 'tool_use' },
        extras: {
          calls: { 0: { id: 'toolu_01D7FLrfh4GYq7yT1ULFeyMV' }, 1: { id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6' } },
          parts: [
            { type: 'thinking', thinking: 'Let me see', signature: 'EqQBsig==' },
            { text: 8 },
            { call: 0 },
            { call: 1 },
          ],
        },
      },
    ]);
  });

  test('stores empty, redacted and unknown blocks as they came', () => {
    const redacted = { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' };
    const found = {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [{ type: 'web_search_result' }],
    };
    const last = readAll(
      messageStart(),
      ...thinking(0, [], ['sig']),
      ...block(1, redacted),
      ...block(
        2,
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
        { type: 'input_json_delta', partial_json: '{"query":' },
        { type: 'input_json_delta', partial_json: '"deer"}' },
      ),
      ...block(3, found),
      ...textBlock(4, 'ok'),
      ...messageEnd('end_turn'),
    ).at(-1);
    expect(last?.extras).toEqual({
      parts: [
        { type: 'thinking', thinking: '', signature: 'sig' },
        redacted,
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'deer' } },
        found,
        { text: 2 },
      ],
    });
  });

  test('a text followed by calls has no parts, and ids that may repeat are not stored', () => {
    const plain = readAll(
      messageStart(),
      ...textBlock(0, 'hi'),
      ...callBlock(1, 'call_0', 'bash', '{}'),
      ...messageEnd('tool_use'),
    );
    expect(plain.at(-1)).not.toHaveProperty('extras');
    const mixed = readAll(
      messageStart(),
      ...callBlock(0, 'call_0', 'bash', '{}'),
      ...textBlock(1, 'hi'),
      ...messageEnd('end_turn'),
    );
    expect(mixed.at(-1)?.extras).toEqual({ parts: [{ call: 0 }, { text: 2 }] });
  });

  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['tool_use', 'tool_calls'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['pause_turn', 'length'],
    ['refusal', 'content_filter'],
    ['something_new', 'something_new'],
  ])('the stop reason %s is %s for the chain', (stopReason, finishReason) => {
    const details =
      stopReason === 'refusal' ? { stop_details: { type: 'refusal', category: 'cyber', explanation: 'x' } } : {};
    const last = readAll(messageStart(), ...textBlock(0, 'a'), ...messageEnd(stopReason, details)).at(-1);
    expect(last).toMatchObject({ finishReason, responseMetadata: { stop_reason: stopReason } });
    expect(last?.responseMetadata?.['refusal_category']).toBe(stopReason === 'refusal' ? 'cyber' : undefined);
  });

  test('the counts at the end replace those at the beginning, unless they are null', () => {
    const usage = { input_tokens: 20, cache_read_input_tokens: null, output_tokens: 5 };
    const start = messageStart({
      usage: {
        input_tokens: 1,
        cache_read_input_tokens: 7,
        output_tokens: 0,
        cache_creation: { ephemeral_1h_input_tokens: 3, ephemeral_5m_input_tokens: 0 },
      },
    });
    expect(readAll(start, ...messageEnd('end_turn', {}, usage)).at(-1)?.usage).toEqual({
      input_tokens: 27,
      output_tokens: 5,
      total_tokens: 32,
      input_token_details: { cache_read: 7, ephemeral_1h_input_tokens: 3 },
    });
    expect(readAll(messageStart({ usage: undefined }), ...messageEnd('end_turn')).at(-1)).not.toHaveProperty('usage');
  });

  test('is finished by the stop reason, and ended by the event behind it', () => {
    const reader = new EventReader();
    expect([reader.read({ type: 'message_stop' }).kind, reader.isFinished]).toEqual(['nothing', false]);
    const [delta, stop] = messageEnd('end_turn');
    reader.read(delta);
    expect(reader.isFinished).toBe(true);
    expect(reader.read(stop)).toEqual({ kind: 'end' });
  });

  test('counts thoughts that the provider dropped, and ignores events that it does not know', () => {
    const dropped = { type: 'thinking_dropped', path: 'messages.1.content.0', reason: 'prefix_binding_mismatch' };
    const last = readAll(
      messageStart({ input_transformations: [dropped, dropped] }),
      { type: 'new_event' },
      ...messageEnd('end_turn'),
    ).at(-1);
    expect(last?.responseMetadata).toMatchObject({ thinking_dropped: 2 });
  });

  test('pieces of blocks that did not begin, too many calls, and other JSON are malformed', () => {
    const reader = new EventReader();
    const kindOf = (event: unknown) => reader.read(event).kind;
    expect(kindOf({ type: 'content_block_delta', index: 9, delta: { type: 'text_delta', text: 'a' } })).toBe(
      'malformed',
    );
    expect(kindOf('text')).toBe('malformed');
    expect(kindOf({ type: 'content_block_start', index: 0 })).toBe('malformed');
    const kinds = Array.from({ length: 129 }, (_, at) => kindOf(callBlock(at, `call_${at}`, 'a')[0]));
    expect([kinds.at(127), kinds.at(128)]).toEqual(['delta', 'malformed']);
  });
});
