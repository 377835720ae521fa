import { ChunkReader } from './chunk-reader.js';

const chunk = (delta: unknown, more: object = {}): unknown => ({ choices: [{ index: 0, delta, ...more }] });
const read = (delta: unknown) => new ChunkReader().read(chunk(delta));

describe('ChunkReader', () => {
  test('reads content, refusals and both spellings of reasoning', () => {
    expect(read({ content: 'a', reasoning: 'b' })).toEqual({ kind: 'delta', delta: { content: 'a', reasoning: 'b' } });
    expect(read({ content: null, reasoning_content: 'b', reasoning: 'b' })).toEqual({
      kind: 'delta',
      delta: { reasoning: 'b' },
    });
    expect(read({ refusal: 'no' })).toEqual({ kind: 'delta', delta: { content: 'no' } });
  });

  test('reads content that is a list of text and thinking blocks', () => {
    const content = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text: 'yes' },
    ];
    expect(read({ content })).toEqual({ kind: 'delta', delta: { content: 'yes', reasoning: 'hm' } });
  });

  test('tolerates empty choices, a missing delta and empty pieces', () => {
    const reader = new ChunkReader();
    for (const empty of [{}, { choices: [] }, { choices: [{}] }, chunk({ content: '', tool_calls: [] }), chunk(null)]) {
      expect(reader.read(empty)).toEqual({ kind: 'nothing' });
    }
    expect(reader.isFinished).toBe(false);
  });

  test('anything but an object is malformed', () => {
    for (const wrong of [undefined, null, 'x', 7, []])
      expect(new ChunkReader().read(wrong)).toEqual({ kind: 'malformed' });
  });

  test('emits the last usage once although the server counts in every chunk', () => {
    const reader = new ChunkReader();
    reader.read({ ...Object(chunk({ content: 'a' })), usage: { prompt_tokens: 1, completion_tokens: 1 } });
    reader.read({ ...Object(chunk({}, { finish_reason: 'stop' })), usage: { prompt_tokens: 1, completion_tokens: 2 } });
    reader.read({ choices: [], usage: null });
    expect(reader.last()).toEqual({
      finishReason: 'stop',
      usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      responseMetadata: {},
    });
  });

  test('emits no usage that lacks a count', () => {
    const reader = new ChunkReader();
    reader.read({ choices: [], usage: { prompt_tokens: '1' } });
    expect(reader.last()).toEqual({ responseMetadata: {} });
  });
});
