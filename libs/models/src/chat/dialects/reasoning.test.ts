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

const call = { index: 0, id: 'c1', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } };
const reasoningContent = [
  chunk({ role: 'assistant', content: null, reasoning_content: 'let me ' }),
  chunk({ reasoning_content: 'see' }),
  chunk({ tool_calls: [call] }, 'tool_calls'),
];
const silentCall = [chunk({ content: null, tool_calls: [call] }, 'tool_calls')];

describe.each([
  ['deepseek' as const, '', ''],
  ['kimi' as const, ' ', undefined],
])('%s', (dialect, missing, missingOfText) => {
  const config = configOf(dialect);
  const answer = answerOf(config, reasoningContent);

  test('gets reasoning_content back with every answer that has some, and where it is required', () => {
    const conversation = [
      human('hi'),
      answer,
      resultOf(answer.tool_calls[0]?.id),
      answerOf(config, silentCall),
      foreignAnswer('c9'),
      foreignAnswer('c10', 'text'),
      answerOf(config, [chunk({ reasoning_content: 'so', content: 'done' }, 'stop')]),
      answerOf(config, [chunk({ content: 'plain' }, 'stop')]),
    ];
    const messages = sent(config, conversation).filter(({ role }) => role === 'assistant');
    expect(messages.map((message) => message['reasoning_content'])).toEqual([
      'let me see',
      missing,
      missing,
      missing,
      'so',
      missingOfText,
    ]);
  });

  test('gets none when send_reasoning is false', () => {
    expect(JSON.stringify(sent({ ...config, sendReasoning: false }, [answer]))).not.toContain('reasoning_content');
  });
});

describe.each(['vllm', 'ollama'] as const)('%s', (dialect) => {
  const config = configOf(dialect);

  test('has its reasoning in the field of that name, in both directions', () => {
    const answer = answerOf(config, [chunk({ reasoning: 'hm' }), chunk({ tool_calls: [call] }, 'tool_calls')]);
    expect(answer.additional_kwargs).toEqual({ reasoning_content: 'hm' });
    expect(sent(config, [answer])[0]).toMatchObject({ reasoning: 'hm' });
    expect(sent(config, [foreignAnswer()])[0]).not.toHaveProperty('reasoning');
  });

  test('without a reasoning parser has it at the beginning of the content', () => {
    const deltas = readAnswer(dialect, [
      chunk({ content: '<th' }),
      chunk({ content: 'ink>\nhm\n</think' }),
      chunk({ content: '>\n\nyes' }, 'stop'),
    ]);
    expect([joined(deltas, 'reasoning'), joined(deltas, 'content')]).toEqual(['hm\n', 'yes']);
  });
});

describe('bedrock', () => {
  test('has the reasoning of open models in a tag of its own', () => {
    const deltas = readAnswer('bedrock', [
      chunk({ content: '<reasoning>hm</reas' }),
      chunk({ content: 'oning>yes' }, 'stop'),
    ]);
    expect([joined(deltas, 'reasoning'), joined(deltas, 'content')]).toEqual(['hm', 'yes']);
  });
});

describe.each(['openai', 'azure', 'deepseek', 'kimi', 'mistral', 'openrouter'] as const)('%s', (dialect) => {
  test('has content that begins with a tag as content', () => {
    const deltas = readAnswer(dialect, [chunk({ content: '<think>x</think>y' }, 'stop')]);
    expect(deltas[0]).toEqual({ content: '<think>x</think>y' });
  });
});

describe('minimax', () => {
  const config = configOf('minimax', { model: 'MiniMax-M3' });
  const piece = (text: string) => ({
    type: 'reasoning.text',
    id: 'reasoning-text-1',
    format: 'MiniMax-response-v1',
    index: 0,
    text,
  });
  const answer = answerOf(config, [
    chunk({ role: 'assistant', name: 'MiniMax AI', content: '', reasoning_details: [piece('let me ')] }),
    chunk({ reasoning_details: [piece('see')] }),
    chunk({ tool_calls: [call] }, 'tool_calls'),
  ]);

  test('gets its details back as they were, assembled, whichever of its models goes on', () => {
    expect(answer.additional_kwargs).toEqual({ reasoning_content: 'let me see' });
    const messages = sent({ ...config, model: 'MiniMax-M2.7' }, [answer, foreignAnswer()]);
    expect(messages[0]).toMatchObject({ reasoning_details: [piece('let me see')] });
    expect(messages[1]).not.toHaveProperty('reasoning_details');
    expect(sent({ ...config, baseUrl: 'https://other.example/v1' }, [answer])[0]).not.toHaveProperty(
      'reasoning_details',
    );
  });

  test('that shows reasoning in the content gets it back there', () => {
    const inline = { ...config, body: { reasoning_split: false } };
    const tagged = answerOf(inline, [chunk({ content: '<think>\nhm\n</think>\n\nyes' }, 'stop')]);
    expect(tagged).toMatchObject({ content: 'yes', additional_kwargs: { reasoning_content: 'hm\n' } });
    expect(sent(inline, [tagged])[0]).toEqual({ role: 'assistant', content: '<think>\nhm\n</think>\n\nyes' });
    expect(sent(config, [tagged])[0]).toEqual({ role: 'assistant', content: 'yes' });
  });

  test('gets no names of users', () => {
    expect(sent(config, [human('hi', 'summary')])).toEqual([{ role: 'user', content: 'hi' }]);
  });
});

describe('openrouter', () => {
  const config = configOf('openrouter', { model: 'google/gemini-3-pro' });
  const answer = answerOf(config, [
    chunk({ reasoning: 'let ', reasoning_details: [{ type: 'reasoning.text', text: 'let ', index: 0, format: 'f' }] }),
    chunk({ reasoning: 'me', reasoning_details: [{ type: 'reasoning.text', text: 'me', index: 0, format: 'f' }] }),
    chunk({ tool_calls: [call], reasoning_details: [{ type: 'reasoning.encrypted', data: 'AA', id: 'c1', index: 0 }] }),
    chunk({}, 'tool_calls'),
  ]);
  const details = [
    { type: 'reasoning.text', text: 'let me', index: 0, format: 'f' },
    { type: 'reasoning.encrypted', data: 'AA', id: 'c1', index: 0 },
  ];

  test('shows reasoning once and gets the details back unchanged', () => {
    expect(answer.additional_kwargs).toEqual({ reasoning_content: 'let me' });
    expect(sent(config, [answer])[0]).toMatchObject({ role: 'assistant', reasoning_details: details });
    expect(sent(config, [answer])[0]).not.toHaveProperty('reasoning');
  });

  test('gets none of another model, and with send_reasoning the text', () => {
    const other = { ...config, model: 'anthropic/claude-sonnet-5', sendReasoning: true };
    expect(sent(other, [answer])[0]).not.toHaveProperty('reasoning_details');
    expect(sent(other, [answer])[0]).toMatchObject({ reasoning: 'let me' });
  });
});
