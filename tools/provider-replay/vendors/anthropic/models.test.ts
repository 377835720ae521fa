import { profileOf, readsThinkingOf } from './models.js';

describe(readsThinkingOf, () => {
  test.each<[string, string, boolean]>([
    ['claude-opus-5-5', 'claude-opus-5-5', true],
    ['claude-opus-5-5', 'claude-opus-5', true],
    ['claude-opus-5', 'claude-fable-5-1', false],
    ['claude-opus-5-5', 'claude-fable-5-1', false],
    ['claude-fable-5-1', 'claude-opus-5-5', true],
    ['claude-opus-4-8', 'claude-haiku-5-5', true],
    ['claude-haiku-5-5', 'claude-opus-5', false],
  ])('%s and blocks of %s: %s', (reader, producer, reads) => {
    expect(readsThinkingOf(reader, producer)).toBe(reads);
  });
});

describe(profileOf, () => {
  test('the date of a model does not matter, and an unknown model is one of the newest', () => {
    expect(profileOf('claude-haiku-4-5-20251001')).toBe(profileOf('claude-haiku-4-5'));
    expect(profileOf('claude-next')).toBe(profileOf('claude-opus-5-5'));
  });
});
