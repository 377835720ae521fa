import type { AiMessage, Message } from '@caribou/contracts';
import { humanMessage, randomConversation } from '@caribou/testing';
import fc from 'fast-check';
import { contextTokens, estimateTextTokens, estimateTokens } from './token-estimate.js';

const human = (content: Message['content'], id = 'h'): Message => ({ ...humanMessage('', id), content });
const ai = (fields: Partial<AiMessage> = {}): AiMessage => ({
  type: 'ai',
  id: 'a',
  content: '',
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
  ...fields,
});
const counted = (input_tokens: number, output_tokens: number, id = 'a'): AiMessage =>
  ai({ id, usage_metadata: { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens } });

describe(estimateTokens, () => {
  test('four bytes are a token, so other scripts weigh more per character', () => {
    expect(estimateTextTokens('a'.repeat(400))).toBe(100);
    expect(estimateTextTokens('я'.repeat(400))).toBe(200);
    expect(estimateTextTokens('字'.repeat(400))).toBe(300);
  });

  test.each<[string, Message, number]>([
    ['no content', human(''), 4],
    ['no blocks', human([]), 4],
    ['text', human('12345678'), 6],
    ['blocks and strings', human(['1234', { type: 'text', text: '5678' }]), 6],
    ['a block that is not sent', human([{ type: 'refusal', data: 'x'.repeat(4000) }]), 4],
    ['an image, however many bytes it has', human([{ type: 'image_url', image_url: { url: 'x'.repeat(9000) } }]), 1004],
    ['a call', ai({ tool_calls: [{ name: 'bash', args: { a: 'bc' }, id: 'c', type: 'tool_call' }] }), 4 + 4],
    [
      'a broken call',
      ai({ invalid_tool_calls: [{ name: 'bash', args: '{"a"', id: 'c', error: 'x', type: 'invalid_tool_call' }] }),
      4 + 2,
    ],
  ])('a message with %s', (_what, message, tokens) => {
    expect(estimateTokens([message])).toBe(tokens);
  });
});

describe(contextTokens, () => {
  test("the provider's count of the last answer and the estimate of what came since", () => {
    expect(contextTokens([human('hi'), counted(500, 20), human('12345678')])).toBe(520 + 6);
  });

  test("the tokens of an answer's subagents are not part of the conversation", () => {
    const spent = { input_tokens: 400, output_tokens: 100, total_tokens: 500 };
    const dispatching = { ...counted(900, 120), additional_kwargs: { subagent_token_usage: spent } };
    expect(contextTokens([human('hi'), dispatching])).toBe(500 + 20);
  });

  test('the estimate where it is larger, or the count is not a number', () => {
    const messages = [human('x'.repeat(4000)), counted(1, 1)];
    expect(contextTokens(messages)).toBe(1004 + 4);
    expect(contextTokens([human('x'.repeat(4000)), counted(Number.NaN, 1)])).toBe(1004 + 4);
    expect(contextTokens(messages, { additional: 50 })).toBe(1058);
  });

  test('an answer that was counted before messages were taken out says nothing', () => {
    const messages = [human('hi', 'h1'), counted(9000, 1, 'a1'), human('more', 'h2')];
    expect(contextTokens(messages, { countedAfter: 'h1' })).toBe(9001 + 5);
    expect(contextTokens(messages, { countedAfter: 'a1' })).toBe(5 + 4 + 5);
    expect(contextTokens(messages, { countedAfter: 'gone' })).toBe(5 + 4 + 5);
  });

  test('never less than the estimate, and another message never makes it less', () => {
    fc.assert(
      fc.property(randomConversation({ cancelled: true }), (messages) => {
        const tokens = contextTokens(messages);

        expect(tokens).toBeGreaterThanOrEqual(estimateTokens(messages));
        expect(contextTokens([...messages, human('more')])).toBeGreaterThan(tokens);
      }),
    );
  });
});
