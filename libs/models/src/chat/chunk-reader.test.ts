import { ChunkReader } from './chunk-reader.js';
import { dialects } from './dialects/dialects.js';

const newReader = () => new ChunkReader(dialects.generic);

const chunk = (delta: unknown, more: object = {}): unknown => ({ choices: [{ index: 0, delta, ...more }] });
const read = (delta: unknown) => newReader().read(chunk(delta));

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
    const reader = newReader();
    for (const empty of [{}, { choices: [] }, { choices: [{}] }, chunk({ content: '', tool_calls: [] }), chunk(null)]) {
      expect(reader.read(empty)).toEqual({ kind: 'nothing' });
    }
    expect(reader.isFinished).toBe(false);
  });

  test('anything but an object is malformed', () => {
    for (const wrong of [undefined, null, 'x', 7, []]) expect(newReader().read(wrong)).toEqual({ kind: 'malformed' });
  });

  test('emits the last usage once although the server counts in every chunk', () => {
    const reader = newReader();
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
    const reader = newReader();
    reader.read({ choices: [], usage: { prompt_tokens: '1' } });
    expect(reader.last()).toEqual({ responseMetadata: {} });
  });
});

describe('an answer that fails within the stream', () => {
  const failures: [string, unknown, object][] = [
    ['an error object', { error: { message: 'no' } }, { message: 'no' }],
    ['an error text', { error: 'no' }, 'no' as unknown as object],
    ['an event of vLLM and Mistral', { object: 'error', message: 'no' }, { object: 'error', message: 'no' }],
    [
      'a status of MiniMax',
      { choices: [], base_resp: { status_code: 1008, status_msg: 'insufficient balance' } },
      { message: 'insufficient balance', code: 1008, status: 402 },
    ],
    [
      'a status of MiniMax that is not listed',
      { base_resp: { status_code: 2013, status_msg: 'no' } },
      { message: 'no', code: 2013, status: 400 },
    ],
    ['an error of the choice', chunk({}, { finish_reason: 'error', error: { code: 502 } }), { code: 502 }],
    [
      'the finish reason error',
      chunk({}, { finish_reason: 'error', native_finish_reason: 'MALFORMED_FUNCTION_CALL' }),
      { message: 'the answer ended with the finish reason error (MALFORMED_FUNCTION_CALL)', code: 'server_error' },
    ],
    [
      'a call that Gemini could not parse',
      chunk({}, { finish_reason: 'function_call_filter: MALFORMED_FUNCTION_CALL' }),
      {
        message: 'the answer ended with the finish reason function_call_filter: MALFORMED_FUNCTION_CALL',
        code: 'server_error',
      },
    ],
    [
      'a lack of capacity at DeepSeek',
      chunk({}, { finish_reason: 'insufficient_system_resource' }),
      { message: 'the answer ended with the finish reason insufficient_system_resource', code: 'server_error' },
    ],
  ];

  test.each(failures)('by %s is an error', (_, event, error) => {
    expect(newReader().read(event)).toEqual({ kind: 'error', error });
  });

  test('by no status of MiniMax, a null error or an unknown finish reason is none', () => {
    const reader = newReader();
    expect(reader.read({ ...Object(chunk({ content: 'a' })), error: null, base_resp: { status_code: 0 } })).toEqual({
      kind: 'delta',
      delta: { content: 'a' },
    });
    reader.read(chunk({}, { finish_reason: 'eos_token' }));
    expect(reader.last()).toMatchObject({ finishReason: 'eos_token' });
    reader.read(chunk({}, { finish_reason: 'content_filter: SAFETY' }));
    expect(reader.last()).toMatchObject({ finishReason: 'content_filter' });
  });
});

describe('the last delta', () => {
  test('has text that might have been the beginning of a tag, and reasoning that was cut off', () => {
    const short = newReader();
    expect(short.read(chunk({ content: '<th' }, { finish_reason: 'stop' }))).toEqual({ kind: 'nothing' });
    expect(short.last()).toMatchObject({ content: '<th', finishReason: 'stop' });
    const cut = newReader();
    expect(cut.read(chunk({ content: '<think>hm </t' }, { finish_reason: 'length' }))).toEqual({
      kind: 'delta',
      delta: { reasoning: 'hm ' },
    });
    expect(cut.last()).toMatchObject({ reasoning: '</t', finishReason: 'length' });
  });

  test('has usage that Kimi reports in the choice', () => {
    const reader = newReader();
    reader.read(
      chunk({}, { finish_reason: 'stop', usage: { prompt_tokens: 3, completion_tokens: 2, cached_tokens: 1 } }),
    );
    expect(reader.last()).toMatchObject({ usage: { input_tokens: 3, input_token_details: { cache_read: 1 } } });
  });
});

test('an answer that begins with the filter results of Azure, without a choice, is read', () => {
  const reader = newReader();
  expect(reader.read({ choices: [], prompt_filter_results: [{ prompt_index: 0 }] })).toEqual({ kind: 'nothing' });
  expect(reader.read(chunk({ content: 'a' }, { content_filter_results: {} }))).toMatchObject({ kind: 'delta' });
});

test('more than 4 MiB of reasoning details are malformed', () => {
  const data = 'x'.repeat(4 * 1024 * 1024 + 1);
  expect(read({ reasoning_details: [{ type: 'reasoning.encrypted', data }] })).toEqual({ kind: 'malformed' });
});
