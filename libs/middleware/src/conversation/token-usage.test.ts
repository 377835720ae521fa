import type { AiMessage, Message, ThreadState, ToolMessage } from '@caribou/contracts';
import { applyUpdate, type ModelRequest, silentLogger } from '@caribou/core';
import { fakeRun, humanMessage } from '@caribou/testing';
import { tokenUsage } from './token-usage.js';

const usage = (input: number, output: number) => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
});
const answer = (id: string, more: Partial<AiMessage> = {}): AiMessage => ({
  type: 'ai',
  id,
  content: 'hello',
  additional_kwargs: {},
  response_metadata: { model_name: 'm' },
  tool_calls: [],
  invalid_tool_calls: [],
  usage_metadata: usage(10, 2),
  ...more,
});
const task = (id: string) => ({ name: 'task', args: { description: id }, id, type: 'tool_call' as const });
const result = (callId: string, kwargs: Record<string, unknown> = {}): ToolMessage => ({
  type: 'tool',
  id: `tool:${callId}`,
  content: 'done',
  name: 'task',
  tool_call_id: callId,
  status: 'success',
  additional_kwargs: kwargs,
  response_metadata: {},
});

const run = fakeRun();
const after = async (state: ThreadState): Promise<ThreadState> => {
  const step = await tokenUsage().afterModel?.(state, run);
  return applyUpdate(state, step?.update ?? {});
};
const asked = (message: AiMessage, state: ThreadState = { messages: [] }): Promise<AiMessage> | undefined => {
  const request: ModelRequest = { model: 'm', system: '', messages: [], tools: [], state };
  return tokenUsage().wrapModelCall?.(request, () => Promise.resolve(message), run);
};
const attribution = (message: Message | undefined) => message?.additional_kwargs['token_usage_attribution'];

describe(tokenUsage, () => {
  test('an answer says what its tokens were for before anybody sees it, and keeps what else it says', async () => {
    const message = await asked(answer('a', { additional_kwargs: { reasoning_content: 'hm' } }));

    expect(message).toMatchObject({ id: 'a', additional_kwargs: { reasoning_content: 'hm' } });
    expect(attribution(message)).toMatchObject({ version: 1, kind: 'final_answer' });
  });

  test('the to-do list of the thread is what a new one is compared with', async () => {
    const todos = [{ content: 'a', status: 'pending' as const }];
    const call = { name: 'write_todos', args: { todos }, id: 'w', type: 'tool_call' as const };
    const changed = { ...call, args: { todos: [{ content: 'a', status: 'completed' }] } };

    const message = await asked(answer('a', { tool_calls: [changed] }), { messages: [], todos });
    expect(attribution(message)).toMatchObject({ kind: 'todo_update', actions: [{ kind: 'todo_complete' }] });
  });

  test('behind the model nothing is replaced when the attribution is right', async () => {
    const told = await asked(answer('a'));
    const state = { messages: [humanMessage('hi'), ...(told === undefined ? [] : [told])] };

    expect(await tokenUsage().afterModel?.(state, run)).toBeUndefined();
  });

  test('when a hook behind took calls away, the attribution follows, under the same id', async () => {
    const told = await asked(answer('a', { tool_calls: [task('t1'), task('t2')] }));
    if (told === undefined) throw new Error('no answer');
    const { messages } = await after({ messages: [{ ...told, tool_calls: [task('t1')] }] });

    expect(messages).toHaveLength(1);
    expect(attribution(messages[0])).toMatchObject({
      kind: 'subagent_dispatch',
      shared_attribution: false,
      tool_call_ids: ['t1'],
    });
  });

  test('a fallback message for a failed answer is not changed, nor is what follows the answer', async () => {
    const failed = answer('f', { additional_kwargs: { deerflow_error_fallback: true } });
    for (const messages of [[failed], [answer('a'), humanMessage('try again')], []]) {
      expect(await tokenUsage().afterModel?.({ messages }, run)).toBeUndefined();
    }
  });

  test('the tokens of an answer are one log line; an answer without a count has none', async () => {
    const lines: unknown[] = [];
    const logger = { ...silentLogger, info: (fields: unknown) => void lines.push(fields) };
    const logged = fakeRun({ logger });
    const { usage_metadata: _none, ...uncounted } = answer('b');

    await tokenUsage().afterModel?.({ messages: [answer('a')] }, logged);
    await tokenUsage().afterModel?.({ messages: [uncounted] }, logged);
    expect(lines).toEqual([{ event: 'model.usage', model: 'm', inputTokens: 10, outputTokens: 2, totalTokens: 12 }]);
  });

  test('what subagents spent is added to the message that dispatched them, once', async () => {
    const spent = (input: number) => ({ subagent_token_usage: usage(input, 1) });
    const dispatch = answer('a', { tool_calls: [task('t1'), task('t2'), task('t3')] });
    const results = [result('t1', spent(100)), result('t2', spent(1000)), result('t3')];
    const first = await after({ messages: [humanMessage('hi'), dispatch, ...results, answer('b')] });
    const second = await after({ messages: [...first.messages, humanMessage('more'), answer('c')] });

    expect(first.messages.map(({ id }) => id).slice(1)).toEqual(['a', 'tool:t1', 'tool:t2', 'tool:t3', 'b']);
    expect(first.messages[1]).toMatchObject({
      usage_metadata: usage(1110, 4),
      additional_kwargs: { subagent_token_usage: usage(1100, 2) },
    });
    expect(first.messages.map((message) => message.additional_kwargs['subagent_token_usage_attributed'])).toEqual([
      undefined,
      undefined,
      true,
      true,
      undefined,
      undefined,
    ]);
    expect(second.messages.slice(0, 6)).toEqual(first.messages);
  });

  test('a task that ends later is added to what was added before, also to a message without a count', async () => {
    const { usage_metadata: _none, ...dispatch } = answer('a', { tool_calls: [task('t1'), task('t2')] });
    const spent = { subagent_token_usage: usage(5, 5) };
    const first = await after({ messages: [dispatch, result('t1', spent), answer('b')] });
    const second = await after({ messages: [...first.messages, result('t2', spent), answer('c')] });

    expect(second.messages[0]).toMatchObject({ usage_metadata: usage(10, 10) });
    expect(second.messages[0]?.additional_kwargs['subagent_token_usage']).toEqual(usage(10, 10));
  });

  test('a result whose message is gone, or whose count is invalid, changes nothing', async () => {
    const odd = { subagent_token_usage: { input_tokens: 'many' } };
    const told = await asked(answer('b'));
    const messages = [result('gone', { subagent_token_usage: usage(1, 1) }), result('t1', odd)];

    const state = { messages: [...messages, ...(told === undefined ? [] : [told])] };
    expect(await tokenUsage().afterModel?.(state, run)).toBeUndefined();
  });

  test('switched off it does nothing', () => {
    expect(Object.keys(tokenUsage({ enabled: false }))).toEqual(['name']);
  });
});
