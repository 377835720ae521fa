import {
  answerOf,
  chunk,
  configOf,
  foreignAnswer,
  human,
  joined,
  readAnswer,
  resultOf,
  sent,
} from '../../testing/transcript.js';

const config = configOf('mistral');
const thinking = (text: string, more: object = {}) => ({
  type: 'thinking',
  thinking: [{ type: 'text', text }],
  ...more,
});
const recorded = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: [thinking('let ')] }),
  chunk({ content: [thinking('me', { closed: true }), { type: 'text', text: 'So' }] }),
  chunk({ content: ' it is' }),
  chunk({ tool_calls: [{ id: 'D681PevKs', function: { name: 'bash', arguments: '{}' }, index: 0 }] }, 'tool_calls'),
];

describe('an answer of Mistral', () => {
  test('has the text and the thinking of its lists', () => {
    const deltas = readAnswer('mistral', recorded);
    expect([joined(deltas, 'reasoning'), joined(deltas, 'content')]).toEqual(['let me', 'So it is']);
    expect(deltas.at(-1)?.extras).toEqual({ parts: [thinking('let me', { closed: true }), { text: 8 }] });
  });

  test('without thinking has no extras', () => {
    expect(readAnswer('mistral', [chunk({ content: 'yes' }, 'stop')]).at(-1)).not.toHaveProperty('extras');
  });
});

describe('a request to Mistral', () => {
  const answer = answerOf(config, recorded);

  test('has the list again, with its thinking', () => {
    expect(sent(config, [answer])[0]).toMatchObject({
      role: 'assistant',
      content: [thinking('let me', { closed: true }), { type: 'text', text: 'So it is' }],
    });
    const elsewhere = { ...config, baseUrl: 'https://other.example/v1' };
    expect(sent(elsewhere, [answer])[0]).toMatchObject({ content: 'So it is' });
  });

  test('has ids of nine letters and digits, for calls and their results alike', () => {
    const messages = sent(config, [
      answer,
      resultOf(answer.tool_calls[0]?.id),
      foreignAnswer(),
      resultOf('functions.bash:0'),
    ]);
    const [own, result, foreign, itsResult] = messages;
    const id = (own?.['tool_calls'] as { id: string }[])[0]?.id;
    expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(result).toMatchObject({ role: 'tool', tool_call_id: id });
    expect(foreign).toMatchObject({ tool_calls: [{ id: itsResult?.['tool_call_id'] }] });
    expect(itsResult?.['tool_call_id']).not.toBe(id);
  });

  test('has an answer between results and a user, no names, and no empty answers', () => {
    const empty = { ...foreignAnswer(), tool_calls: [] };
    const messages = sent(config, [
      human('a', 'x'),
      foreignAnswer('c1'),
      resultOf('c1'),
      empty,
      human('b'),
      human('c'),
    ]);
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'a'],
      ['assistant', null],
      ['tool', 'done'],
      ['assistant', 'OK.'],
      ['user', 'b'],
      ['user', 'c'],
    ]);
    expect(messages[0]).not.toHaveProperty('name');
  });
});
