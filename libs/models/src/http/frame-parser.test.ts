import { FrameParser } from './frame-parser.js';

const chunk = (delta: object, more: object = {}): string =>
  JSON.stringify({ id: 'c1', model: 'm', choices: [{ index: 0, delta, finish_reason: null, ...more }] });

/** Parses frames in order; each result is copied, as the parser uses its object again. */
function parseAll(frames: readonly string[]): unknown[] {
  const parser = new FrameParser();
  return frames.map((frame) => structuredClone(parser.parse(frame)));
}

const parsed = (frames: readonly string[]): unknown[] => frames.map((frame) => JSON.parse(frame) as unknown);

describe(FrameParser, () => {
  test('reads frames as JSON.parse does, whatever their text', () => {
    const texts = [
      'The',
      ' quick',
      '',
      '"quoted"',
      '\\',
      'line\nline',
      '\u2028',
      'é😀',
      '","x":"y',
      '\u0007',
      '}]}',
      ' end',
    ];
    const frames = texts.map((content) => chunk({ content }));

    expect(parseAll(frames)).toEqual(parsed(frames));
  });

  test.each([['\u0080\u0081'], ['']])('reads frames after one with the text %j', (first) => {
    const frames = [first, 'a', first, 'b'].map((content) => chunk({ content }));

    expect(parseAll(frames)).toEqual(parsed(frames));
  });

  test('reads frames between and after those with a text', () => {
    const frames = [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'a' }),
      chunk({ content: 'b', reasoning_content: 'c' }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"content":"x"}' } }] }),
      chunk({ content: 'd' }),
      chunk({ content: 'e' }, { finish_reason: 'stop' }),
      JSON.stringify({ id: 'c1', choices: [], usage: { total_tokens: 3 } }),
    ];

    expect(parseAll(frames)).toEqual(parsed(frames));
  });

  test.each([
    ['spaces after colons', '{"choices": [{"delta": {"content": "TEXT"}}]}'],
    ['a text that is escaped otherwise', '{"choices":[{"delta":{"content":"TEXT\\u0041\\/"}}]}'],
    [
      'the name of the field in another text',
      '{"note":"\\"content\\":\\"TEXT\\"","choices":[{"delta":{"content":"TEXT"}}]}',
    ],
    ['the field before others', '{"choices":[{"delta":{"content":"TEXT","refusal":"\\"content\\":\\"TEXT\\""}}]}'],
    ['the field twice', '{"choices":[{"delta":{"content":"TEXT","content":"TEXT"}}]}'],
    ['the same field elsewhere', '{"choices":[{"delta":{"content":"TEXT"}}],"other":{"content":"TEXT"}}'],
    ["Anthropic's blocks", '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"TEXT"}}'],
    ['text that varies beside it', '{"choices":[{"delta":{"content":"TEXT"}}],"obfuscation":"xTEXTx"}'],
  ])('reads frames with %s', (_what, frame) => {
    const frames = ['one', 'two', 'three \\" four', 'five'].map((text) => frame.replaceAll('TEXT', text));

    expect(parseAll(frames)).toEqual(parsed(frames));
  });

  test('a frame that only looks like the one before is no JSON', () => {
    const [before, after] = chunk({ content: 'TEXT' }).split('TEXT');
    const frames = ['one', 'a"b', 'c\\', 'd\ne'].map((text) => `${before}${text}${after}`);

    expect(parseAll([...frames, 'nothing'])).toEqual([JSON.parse(frames[0] ?? ''), ...frames.map(() => undefined)]);
  });
});
