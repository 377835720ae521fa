import { FROM_CLIENT, type Message } from '@caribou/contracts';
import { answer, claude, extrasOf, human, requestOf, result, toolCall } from '../testing/claude.js';

const plain = { promptCaching: false };
const opus = claude('claude-opus-5-5', plain);
const old = claude('claude-sonnet-4-5', plain);
const messagesOf = (messages: Message[], model = opus, thinkingEnabled = true) =>
  requestOf(model, { messages, thinkingEnabled }).messages;
const text = (value: string) => ({ type: 'text', text: value });

describe('turns of users and assistant', () => {
  test('consecutive messages of users are one turn, without empty texts', () => {
    const turns = messagesOf([
      human('one'),
      human('  \n'),
      human([{ type: 'text', text: '' }, 'two']),
      answer('ok'),
      human('four', { name: 'no name' }),
    ]);
    expect(turns).toEqual([
      { role: 'user', content: [text('one'), text('two')] },
      { role: 'assistant', content: [text('ok')] },
      { role: 'user', content: [text('four')] },
    ]);
  });

  test('names are part of the text: as tags around reminders, in front of what users say', () => {
    const [turn] = messagesOf([
      human('go', { name: 'user-input' }),
      human('slow down', { name: 'loop_warning' }),
      human('<system_reminder>\nopen steps\n</system_reminder>', { name: 'todo_reminder' }),
      human('hello', { name: 'alice', additional_kwargs: { [FROM_CLIENT]: true } }),
    ]);
    expect(turn?.content).toEqual([
      text('go'),
      text('<loop_warning>\nslow down\n</loop_warning>'),
      text('<system_reminder>\nopen steps\n</system_reminder>'),
      text('[alice] hello'),
    ]);
  });

  test('results are first behind their calls, marked when they are errors, and every call has one', () => {
    const calls = answer('', { tool_calls: [toolCall('call_a'), toolCall('call_b'), toolCall('call_c')] });
    const turns = messagesOf([
      human('go'),
      calls,
      result('call_b', [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }]),
      human('hurry'),
      result('call_a', 'no such file', { status: 'error' }),
      answer('done'),
      human('thanks'),
    ]);
    expect(turns[2]).toEqual({
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'call_b',
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }],
        },
        { type: 'tool_result', tool_use_id: 'call_a', content: [text('no such file')], is_error: true },
        {
          type: 'tool_result',
          tool_use_id: 'call_c',
          content: [text('This call has no result: it was interrupted.')],
          is_error: true,
        },
        text('hurry'),
      ],
    });
    expect(turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user']);
  });

  test('a result without its call is a text, and an empty result has no content', () => {
    const turns = messagesOf([
      result('call_x', 'lost'),
      answer('', { tool_calls: [toolCall('call_y')] }),
      result('call_y', ''),
    ]);
    expect(turns[0]?.content).toEqual([text('[Result of bash] lost')]);
    expect(turns[2]?.content).toEqual([{ type: 'tool_result', tool_use_id: 'call_y' }]);
  });

  test('a user begins and ends each conversation, and empty answers are no turns', () => {
    const next = { role: 'user', content: [text('Continue.')] };
    expect(messagesOf([])).toEqual([next]);
    expect(messagesOf([answer('hello')])).toEqual([next, { role: 'assistant', content: [text('hello')] }, next]);
    expect(messagesOf([human('a'), answer(''), human('b')])).toEqual([
      { role: 'user', content: [text('a'), text('b')] },
    ]);
  });

  test('ids and names that the endpoint refuses are mapped, the same way for calls and results', () => {
    const odd = answer('', {
      tool_calls: [toolCall('call.1'), toolCall('call_1', 'mcp.read file')],
      invalid_tool_calls: [{ id: 'call:1', name: '', args: '{', error: 'e', type: 'invalid_tool_call' }],
    });
    const [, calls, results] = messagesOf([
      human('a'),
      odd,
      ...['call:1', 'call.1', 'call_1'].map((id) => result(id, id)),
    ]);
    const ids = ['call_Y2FsbC4x', 'call_1', 'call_Y2FsbDox'];
    expect(calls?.content).toEqual([
      { type: 'tool_use', id: ids[0], name: 'bash', input: { command: 'ls' } },
      { type: 'tool_use', id: ids[1], name: 'mcp_read_file', input: { command: 'ls' } },
      { type: 'tool_use', id: ids[2], name: 'unknown', input: {} },
    ]);
    expect(results?.content.map((block) => 'tool_use_id' in block && block.tool_use_id)).toEqual([
      ids[2],
      ids[0],
      ids[1],
    ]);
  });

  test('system messages stay where they are for newer models, and join the prompt of older ones', () => {
    const system = (content: string): Message => ({ ...human(content), type: 'system' });
    const messages = [
      system('first'),
      human('a'),
      system('now brief'),
      answer('b'),
      system('x'),
      system('y'),
      human('c'),
    ];
    expect(requestOf(opus, { messages })).toMatchObject({
      system: [text('be kind'), text('first')],
      messages: [
        { role: 'user' },
        { role: 'system', content: [text('now brief')] },
        { role: 'assistant' },
        { role: 'user', content: [text('c')] },
        { role: 'system', content: [text('x\n\ny')] },
      ],
    });
    const { system: joined, messages: turns } = requestOf(old, { messages });
    expect(joined).toEqual(['be kind', 'first', 'now brief', 'x', 'y'].map(text));
    expect(turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  });
});

describe('answers with stored blocks', () => {
  const thought = { type: 'thinking', thinking: 'hm', signature: 'sig' };
  const empty = { type: 'thinking', thinking: '', signature: 'sig2' };
  const redacted = { type: 'redacted_thinking', data: 'secret' };
  const stored = answer('Hi there', {
    tool_calls: [toolCall('call_1'), toolCall('call_2')],
    additional_kwargs: { reasoning_content: 'hm' },
    provider_extras: extrasOf(opus, {
      calls: { call_1: { id: 'toolu_A' } },
      parts: [thought, { text: 3 }, { call: 'call_1' }, empty, redacted, { text: 5 }, { call: 'call_2' }],
    }),
  });
  const conversation = (message = stored): Message[] => [
    human('go'),
    message,
    result('call_1', '1'),
    result('call_2', '2'),
  ];
  const use = (id: string) => ({ type: 'tool_use', id, name: 'bash', input: { command: 'ls' } });

  test('are sent as they came: in order, with empty thoughts and the ids of the provider', () => {
    const [, sent, results] = messagesOf(conversation());
    expect(sent?.content).toEqual([
      thought,
      text('Hi '),
      use('toolu_A'),
      empty,
      redacted,
      text('there'),
      use('call_2'),
    ]);
    expect(results?.content.map((block) => 'tool_use_id' in block && block.tool_use_id)).toEqual(['toolu_A', 'call_2']);
  });

  test('are text and calls for another model, another provider, and the same one by another protocol', () => {
    const foreign = [
      claude('claude-opus-5', plain),
      claude('claude-opus-5-5', plain, { baseUrl: 'https://proxy.example/v1' }),
      claude('claude-opus-5-5', plain),
    ];
    const messages = conversation();
    const viaChat = conversation({
      ...stored,
      provider_extras: { ...extrasOf(opus, stored.provider_extras ?? {}), dialect: 'generic' },
    });
    for (const [at, model] of foreign.entries()) {
      const [, sent] = messagesOf(at === 2 ? viaChat : messages, model);
      expect(sent?.content).toEqual([text('Hi there'), use('call_1'), use('call_2')]);
    }
  });

  test('are text and calls when the text is not that of the blocks', () => {
    const [, sent] = messagesOf(conversation({ ...stored, content: 'Hi there, edited' }));
    expect(sent?.content).toEqual([text('Hi there, edited'), use('toolu_A'), use('call_2')]);
  });

  test('are sent without the thoughts while thinking is off, unless it cannot be switched off', () => {
    const haiku = claude('claude-haiku-5-5', plain);
    const own = {
      ...stored,
      provider_extras: { ...extrasOf(haiku, stored.provider_extras ?? {}), ...extrasOf(haiku, {}) },
    };
    const [, off] = messagesOf(conversation(own), haiku, false);
    expect(off?.content).toEqual([text('Hi '), use('toolu_A'), text('there'), use('call_2')]);
    expect(messagesOf(conversation(), opus, false)[1]?.content).toHaveLength(7);
  });

  test('which are thoughts alone are no turn, and thoughts without a signature are left out', () => {
    const only = (parts: unknown[], content = '') => answer(content, { provider_extras: extrasOf(opus, { parts }) });
    expect(messagesOf([human('a'), only([thought]), human('b')])).toHaveLength(1);
    const [, sent] = messagesOf([
      human('a'),
      only([{ type: 'thinking', thinking: 'x' }, { text: 1 }], 'y'),
      human('b'),
    ]);
    expect(sent?.content).toEqual([text('y')]);
  });

  test('which are no longer called lose these calls only', () => {
    const [, sent] = messagesOf([human('go'), { ...stored, tool_calls: [toolCall('call_2')] }, result('call_2', '2')]);
    expect(sent?.content).toEqual([thought, text('Hi '), empty, redacted, text('there'), use('call_2')]);
  });
});
