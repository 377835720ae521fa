import { readSuggestions } from './read-suggestions.js';

describe(readSuggestions, () => {
  test.each<[string, string, string[]]>([
    ['a bare array', '["a?", "b?"]', ['a?', 'b?']],
    ['an array in a code fence', '```json\n["a?"]\n```', ['a?']],
    ['an array in talk', 'Here you are:\n["a?", "b?"]\nAnything else?', ['a?', 'b?']],
    ['an array after a thought with another one', '<think>maybe ["x"]</think>["a?"]', ['a?']],
    ['lines in a question', '["one\\n two?"]', ['one two?']],
    ['what is no question', '["a?", "", 3, null, {"q": "b?"}, "  "]', ['a?']],
    ['more than asked for', '["a?", "b?", "c?", "d?"]', ['a?', 'b?', 'c?']],
    ['no array', 'I cannot help with that.', []],
    ['half an array', '["a?", "b', []],
    ['brackets the wrong way round', '] and [', []],
    ['an object', '{"questions": 1}', []],
    ['nothing', '', []],
  ])('%s', (_what, answer, questions) => {
    expect(readSuggestions(answer, 3)).toEqual(questions);
  });
});
