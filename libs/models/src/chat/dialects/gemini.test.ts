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

const config = configOf('gemini', { model: 'gemini-3-pro' });
const signed = (signature: string) => ({ google: { thought_signature: signature } });
const call = (name: string, more: object = {}) => ({
  id: `function-call-${name}`,
  type: 'function',
  function: { name, arguments: `{"of":"${name}"}` },
  ...more,
});
/** As the compatibility layer streams them: calls without an index, each whole, and `stop` at the end. */
const parallel = [
  chunk({ role: 'assistant', tool_calls: [call('one', { extra_content: signed('sig-1') })] }),
  chunk({ role: 'assistant', tool_calls: [call('two')] }),
  chunk({ role: 'assistant' }, 'stop', { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 45 } }),
];

describe('an answer of Gemini', () => {
  test('has its calls, although they have no index and the answer ends with stop', () => {
    const deltas = readAnswer('gemini', parallel);
    expect(deltas.flatMap(({ toolCallChunks = [] }) => toolCallChunks)).toMatchObject([
      { index: 0, name: 'one', args: '{"of":"one"}' },
      { index: 1, name: 'two', args: '{"of":"two"}' },
    ]);
    expect(deltas.at(-1)).toMatchObject({
      finishReason: 'stop',
      usage: { output_tokens: 35, output_token_details: { reasoning: 30 } },
      extras: { calls: { 0: { extra_content: signed('sig-1') } } },
    });
  });

  test('has thoughts in their tag as reasoning, and the signature of its message', () => {
    const deltas = readAnswer('gemini', [
      chunk({ content: '<thought>let me', extra_content: { google: { thought: true } } }),
      chunk({ content: ' see', extra_content: { google: { thought: true } } }),
      chunk({ content: '</thought>So', extra_content: signed('sig-m') }),
      chunk({ content: ' it is' }, 'stop'),
    ]);
    expect([joined(deltas, 'reasoning'), joined(deltas, 'content')]).toEqual(['let me see', 'So it is']);
    expect(deltas.at(-1)?.extras).toEqual({ message: { extra_content: signed('sig-m') } });
  });

  test('has a signature that comes after the call, in a piece of its own', () => {
    const answer = answerOf(config, [
      chunk({ tool_calls: [call('one')] }),
      chunk({ tool_calls: [{ extra_content: signed('late') }] }),
      chunk({}, 'stop'),
    ]);
    expect(answer.tool_calls).toHaveLength(1);
    expect(Object.values(answer.provider_extras?.calls ?? {})).toEqual([{ extra_content: signed('late') }]);
  });
});

describe('a request to Gemini', () => {
  const answer = answerOf(config, parallel);
  const results = answer.tool_calls.map(({ id }) => resultOf(id));

  test('has the signatures of its own answers where they were', () => {
    const messages = sent(config, [human('hi'), answer, ...results]);
    expect(messages[1]?.['tool_calls']).toMatchObject([
      { extra_content: signed('sig-1') },
      { function: { name: 'two' } },
    ]);
    expect(messages[1]?.['tool_calls']).not.toMatchObject([{}, { extra_content: {} }]);
    const own = answerOf(config, [chunk({ content: 'yes', extra_content: signed('sig-m') }, 'stop')]);
    expect(sent(config, [own])).toEqual([{ role: 'assistant', content: 'yes', extra_content: signed('sig-m') }]);
  });

  test.each([
    ['a client', foreignAnswer()],
    [
      'another model',
      { ...answer, provider_extras: answer.provider_extras && { ...answer.provider_extras, model: 'x' } },
    ],
    [
      'another provider',
      { ...answer, provider_extras: answer.provider_extras && { ...answer.provider_extras, provider: 'x' } },
    ],
    ['a run whose extras were lost', { ...answer, provider_extras: undefined }],
  ])('has the documented escape for the first call of an answer of %s', (_, foreign) => {
    const [first, ...others] = sent(config, [foreign])[0]?.['tool_calls'] as Record<string, unknown>[];
    expect(first).toHaveProperty('extra_content', signed('skip_thought_signature_validator'));
    for (const other of others) expect(other).not.toHaveProperty('extra_content');
  });

  test('has no escape for models that do not check signatures', () => {
    const old = configOf('gemini', { model: 'models/gemini-2.5-flash' });
    expect(JSON.stringify(sent(old, [foreignAnswer()]))).not.toContain('extra_content');
  });

  test('has no name, and no answer without text and calls', () => {
    const thought = answerOf(config, [chunk({ content: '<thought>hm</thought>' }, 'stop')]);
    expect(thought).toMatchObject({ content: '', additional_kwargs: { reasoning_content: 'hm' } });
    expect(sent(config, [human('hi', 'summary'), thought, human('again')])).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'user', content: 'again' },
    ]);
  });
});

test('other dialects send extra_content back too, as gateways to Gemini need it, but know no escape', () => {
  const gateway = configOf('generic', { model: 'gemini-3-pro' });
  const answer = answerOf(gateway, parallel);
  expect(sent(gateway, [answer])[0]?.['tool_calls']).toMatchObject([{ extra_content: signed('sig-1') }, {}]);
  expect(JSON.stringify(sent(gateway, [foreignAnswer()]))).not.toContain('extra_content');
});
