import { summaryOf } from './waiting.js';

describe(summaryOf, () => {
  test('the calls of a decision are described, those without a description by their name', () => {
    const value = { action_requests: [{ name: 'a', description: 'Sends mail' }, { name: 'b' }] };
    expect(summaryOf(value)).toBe('Sends mail; b');
  });

  test('a question is its text, any other value its JSON', () => {
    expect([summaryOf('Which?'), summaryOf({ question: 'Where?' }), summaryOf({ a: [1] })]).toEqual([
      'Which?',
      'Where?',
      '{"a":[1]}',
    ]);
    expect([summaryOf(null), summaryOf(undefined)]).toEqual(['null', '']);
  });

  test('a long one is cut, and characters that reorder text are removed', () => {
    expect(summaryOf(`\u202E${'x'.repeat(2_000_000)}`)).toHaveLength(300);
  });
});
