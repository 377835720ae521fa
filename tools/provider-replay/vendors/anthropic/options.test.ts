import {
  asks,
  checkMessages as check,
  hello,
  mark,
  refusalBy as messageOf,
  result,
  says,
  text,
  tool,
} from '../../testing/messages-request.js';

describe('options of a model', () => {
  const model = (name: string, more: object) => ({ model: `claude-${name}`, ...more });
  const thinking = (type: string) => ({ thinking: type === 'enabled' ? { type, budget_tokens: 1024 } : { type } });
  test.each<[string, object, string]>([
    [
      'manual thinking on a newer model',
      model('sonnet-5', thinking('enabled')),
      '"thinking.type.enabled" is not supported for this model.',
    ],
    [
      'no thinking on a model that always thinks',
      model('opus-5-5', thinking('disabled')),
      '"thinking.type.disabled" is not supported for this model.',
    ],
    [
      'between_tools on a model without it',
      model('haiku-5-5', thinking('between_tools')),
      '"thinking.type.between_tools" is not supported',
    ],
    [
      'adaptive thinking on an older model',
      model('haiku-4-5-20251001', thinking('adaptive')),
      'adaptive thinking is not supported on this model',
    ],
    [
      'a budget of all tokens',
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      '`max_tokens` must be greater than `thinking.budget_tokens`',
    ],
    [
      'effort on an older model',
      model('haiku-4-5', { output_config: { effort: 'low' } }),
      'does not support the effort parameter',
    ],
    [
      'an effort that the model has not',
      model('opus-4-6', { output_config: { effort: 'xhigh' } }),
      "'xhigh' is not supported for this model",
    ],
    [
      'no thinking at the highest effort',
      model('opus-5', { ...thinking('disabled'), output_config: { effort: 'max' } }),
      'not supported with effort "max"',
    ],
    [
      'a temperature on a newer model',
      model('opus-4-7', { temperature: 0.2 }),
      '`temperature` is deprecated for this model',
    ],
    ['top_p on a newer model', model('sonnet-5', { top_p: 0.9 }), '`top_p` is deprecated'],
    ['top_k on a newer model', model('sonnet-5', { top_k: 5 }), '`top_k` is deprecated'],
    [
      'a temperature with thinking',
      { ...thinking('adaptive'), temperature: 0 },
      '`temperature` may only be set to 1 when thinking is enabled',
    ],
    ['top_k with thinking', { ...thinking('adaptive'), top_k: 3 }, '`top_k` must be unset'],
    [
      'a low top_p with thinking',
      { ...thinking('enabled'), top_p: 0.5 },
      '`top_p` must be greater than or equal to 0.95',
    ],
    [
      'a forced tool on a newer model',
      model('fable-5-1', { tool_choice: { type: 'any' } }),
      'tool_choice: type "tool" and "any" are not supported for this model.',
    ],
    [
      'a forced tool with manual thinking',
      { ...thinking('enabled'), tool_choice: { type: 'tool', name: 'bash' } },
      'Thinking may not be enabled when tool_choice forces tool use',
    ],
    [
      'a forced tool that is not there',
      { tool_choice: { type: 'tool', name: 'x' } },
      "Tool 'x' not found in provided tools",
    ],
    [
      'a tool_choice without tools',
      { tools: undefined, tool_choice: { type: 'auto' } },
      'may only be specified while providing tools',
    ],
    ['two tools of one name', { tools: [tool, tool] }, 'tools: Tool names must be unique.'],
    [
      'block_binding without its header',
      model('opus-5-5', { thinking: { type: 'adaptive', block_binding: {} } }),
      'block_binding: Extra inputs are not permitted',
    ],
  ])('%s', (_what, body, message) => {
    expect(messageOf(() => check(body)).message).toContain(message);
  });
});

describe('marks of the cache', () => {
  const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };
  test.each<[string, object, string]>([
    [
      'a fifth',
      says(...'abcde'.split('').map((letter) => text(letter, mark))),
      'A maximum of 4 blocks with cache_control may be provided. Found 5.',
    ],
    [
      'a fifth by the mark of the whole request',
      { ...says(...'abcdz'.split('').map((letter) => text(letter, letter === 'z' ? {} : mark))), ...mark },
      'Found 5.',
    ],
    [
      'a mark inside a result',
      {
        messages: [
          hello,
          asks('a'),
          {
            role: 'user',
            content: [
              { ...result('a'), content: [text('b', mark)] },
              ...'cdef'.split('').map((letter) => text(letter, mark)),
            ],
          },
        ],
      },
      'Found 5.',
    ],
    [
      'a longer life after a shorter',
      says(text('a', mark), text('b', hour)),
      "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'",
    ],
  ])('%s', (_what, body, message) => {
    expect(messageOf(() => check(body)).message).toContain(message);
  });

  test('an empty text inside a result can carry none', () => {
    const body = {
      messages: [hello, asks('a'), { role: 'user', content: [{ ...result('a'), content: [text('', mark)] }] }],
    };
    expect(messageOf(() => check(body)).message).toBe(
      'messages.2.content.0.content.0: cache_control cannot be set for empty text blocks',
    );
  });
});
