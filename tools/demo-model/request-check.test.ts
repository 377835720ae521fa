import { ModelApiError } from './api-error.js';
import { checkChatRequest } from './request-check.js';

const user = { role: 'user', content: 'hi' };
const call = (id: string, args = '{}') => ({ id, type: 'function', function: { name: 'bash', arguments: args } });
const asks = (...calls: object[]) => ({ role: 'assistant', content: null, tool_calls: calls });
const answers = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'ok' });
const check = (...messages: object[]) => checkChatRequest({ model: 'm', messages });

function errorOf(run: () => unknown): ModelApiError {
  try {
    run();
  } catch (error) {
    if (error instanceof ModelApiError) return error;
    throw error;
  }
  throw new Error('the request was accepted');
}

describe(checkChatRequest, () => {
  test('a turn with two parallel calls, answered in any order, is accepted', () => {
    expect(check(user, asks(call('a'), call('b')), answers('b'), answers('a'), user).messages).toHaveLength(5);
  });

  test.each<[string, object[], RegExp, string]>([
    ['a call without an answer', [user, asks(call('a'))], /did not have response messages: a/, 'messages.[1].role'],
    [
      'a call answered after another message',
      [asks(call('a')), user, answers('a')],
      /response messages: a/,
      'messages.[0].role',
    ],
    [
      'one of two calls answered',
      [asks(call('a'), call('b')), answers('a'), user],
      /response messages: b/,
      'messages.[0].role',
    ],
    [
      'a tool message without a call',
      [user, answers('x')],
      /must be a response to a preceeding message/,
      'messages.[1].role',
    ],
    ['a call answered twice', [asks(call('a')), answers('a'), answers('a')], /answered before/, 'messages.[2].role'],
    ['two calls of one id', [asks(call('a'), call('a')), answers('a')], /Duplicate value/, 'messages.[0].tool_calls'],
    [
      'arguments that are not JSON',
      [asks(call('a', '{"x":')), answers('a')],
      /not valid JSON/,
      'messages.[0].tool_calls',
    ],
    [
      'arguments that are not an object',
      [asks(call('a', '[]')), answers('a')],
      /not a JSON object/,
      'messages.[0].tool_calls',
    ],
    [
      'an id of 41 characters',
      [asks(call('x'.repeat(41))), answers('x'.repeat(41))],
      /40/,
      'messages.[0].tool_calls.[0].id',
    ],
    ['an empty tool_calls list', [asks()], /Too small/i, 'messages.[0].tool_calls'],
    [
      'an assistant message with neither content nor calls',
      [{ role: 'assistant' }],
      /needs 'content'/,
      'messages.[0].content',
    ],
    ['an unknown role', [{ role: 'robot', content: 'x' }], /role/, 'messages.[0].role'],
    ['no message', [], /messages/, 'messages'],
  ])('%s is refused with 400', (_case, messages, words, param) => {
    const error = errorOf(() => check(...messages));

    expect(error.status).toBe(400);
    expect(error.message).toMatch(words);
    expect(error.body().error).toMatchObject({ type: 'invalid_request_error', param });
  });

  test('options that need another option are refused', () => {
    const base = { model: 'm', messages: [user] };

    expect(errorOf(() => checkChatRequest({ ...base, stream_options: { include_usage: true } })).detail.param).toBe(
      'stream_options',
    );
    expect(errorOf(() => checkChatRequest({ ...base, tool_choice: 'auto' })).detail.param).toBe('tool_choice');
    expect(errorOf(() => checkChatRequest({ ...base, tools: [] })).detail.param).toBe('tools');
  });
});
