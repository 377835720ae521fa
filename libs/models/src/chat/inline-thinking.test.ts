import fc from 'fast-check';
import { InlineThinking } from './inline-thinking.js';

/** Splits a text that comes in these pieces. */
function splitAll(pieces: readonly string[], tag = 'think'): { content: string; reasoning: string } {
  const splitter = new InlineThinking(tag);
  const parts = [...pieces.map((piece) => splitter.split(piece)), splitter.end()];
  return {
    content: parts.map(({ content }) => content).join(''),
    reasoning: parts.map(({ reasoning }) => reasoning).join(''),
  };
}

describe(InlineThinking, () => {
  test.each([
    ['<think>\nhm\n</think>\n\nyes', 'hm\n', 'yes'],
    ['\n <think>hm</think>yes <think>no</think>', 'hm', 'yes <think>no</think>'],
    ['<think></think>yes', '', 'yes'],
    ['<think>let</think><think> me</think>\n<think> see</think>\nyes', 'let me see', 'yes'],
    ['<think>hm</think>\n', 'hm', ''],
    ['<think>a </thin b</think>c', 'a </thin b', 'c'],
    ['<think>cut off', 'cut off', ''],
    ['<think>cut off </thi', 'cut off </thi', ''],
    ['</think>\nyes', '', 'yes'],
    ['yes <think>no</think>', '', 'yes <think>no</think>'],
    ['<thinker>', '', '<thinker>'],
    ['<thi', '', '<thi'],
    ['  two spaces', '', '  two spaces'],
    ['', '', ''],
  ])('splits %j, wherever it is cut', (text, reasoning, content) => {
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 8 }), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), text.length];
        const pieces = at.slice(1).map((end, index) => text.slice(at[index], end));
        expect(splitAll(pieces)).toEqual({ reasoning, content });
      }),
    );
    expect(splitAll(Array.from(text))).toEqual({ reasoning, content });
  });

  test('gives reasoning as it comes and is over once the text has begun', () => {
    const splitter = new InlineThinking('thought');
    expect(splitter.split('<thought>let')).toEqual({ reasoning: 'let', content: '' });
    expect(splitter.split(' me</')).toEqual({ reasoning: ' me', content: '' });
    expect(splitter.split('thought>')).toEqual({ reasoning: '', content: '' });
    expect(splitter.isOver).toBe(false);
    expect(splitter.split('\nso')).toEqual({ reasoning: '', content: 'so' });
    expect(splitter.isOver).toBe(true);
  });

  test('holds no more than a thousand characters of white space back', () => {
    const splitter = new InlineThinking('think');
    expect(splitter.split(' '.repeat(1_001)).content).toHaveLength(1_001);
    expect(splitter.isOver).toBe(true);
  });
});
