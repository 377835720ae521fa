import type { AiMessage, Message, ThreadState, ToolMessage } from '@caribou/contracts';
import { applyUpdate, type RunContext } from '@caribou/core';
import { fakeRun, humanMessage } from '@caribou/testing';
import { terminalResponse } from './terminal-response.js';

const answer = (id: string, fields: Partial<AiMessage> = {}): AiMessage => ({
  type: 'ai',
  id,
  content: '',
  additional_kwargs: {},
  response_metadata: { finish_reason: 'stop' },
  tool_calls: [],
  invalid_tool_calls: [],
  ...fields,
});
const call = { name: 'ls', args: {}, id: 'c1', type: 'tool_call' } as const;
const result: ToolMessage = {
  type: 'tool',
  id: 't1',
  name: 'ls',
  tool_call_id: 'c1',
  content: 'a.txt',
  status: 'success',
  additional_kwargs: {},
  response_metadata: {},
};
const question = humanMessage('hi', 'h1');
const asked: readonly Message[] = [question, answer('a1', { tool_calls: [call] }), result];

/** Lets the hook look at an answer, and reduces what it changed. */
async function after(state: ThreadState, message: AiMessage, run: RunContext = fakeRun()) {
  const reached = applyUpdate(state, { messages: [message] });
  const step = await terminalResponse().afterModel?.(reached, run);
  return { step, state: applyUpdate(reached, step?.update ?? {}) };
}

describe(terminalResponse, () => {
  test.each<[string, Partial<AiMessage>]>([
    ['nothing', {}],
    ['only thoughts', { additional_kwargs: { reasoning_content: 'hm' } }],
    ['thoughts in the text', { content: '<think>hm</think> ' }],
    ['blocks of thoughts', { content: [{ type: 'thinking', thinking: 'hm' }] }],
  ])('an answer that holds %s is taken out, and the model is called again', async (_what, fields) => {
    for (const messages of [asked, [question]]) {
      const { step, state } = await after({ messages: [...messages] }, answer('a2', fields));

      expect(step?.again).toBe(true);
      expect(step?.stopReason).toBeUndefined();
      expect(state.messages.slice(0, -1)).toEqual(messages);
    }
  });

  test.each<[string, Partial<AiMessage>]>([
    ['text', { content: 'done' }],
    ['a call', { tool_calls: [call] }],
    [
      'a call that cannot be read',
      { invalid_tool_calls: [{ name: 'ls', args: '{', id: 'c', error: 'e', type: 'invalid_tool_call' }] },
    ],
    ['an image', { content: [{ type: 'image_url', image_url: { url: 'data:' } }] }],
  ])('an answer that holds %s is left alone', async (_what, fields) => {
    expect((await after({ messages: [...asked] }, answer('a2', fields))).step).toBeUndefined();
  });

  test('the second attempt gets a hint, in a message that stays in the thread and is hidden from clients', async () => {
    const { state } = await after({ messages: [...asked] }, answer('a2'));

    expect(state.messages.slice(0, -1)).toEqual(asked);
    expect(state.messages.at(-1)).toMatchObject({
      type: 'human',
      name: 'empty_answer_reminder',
      content: expect.stringContaining('Your last answer was empty') as string,
      additional_kwargs: { hide_from_ui: true },
    });
  });

  test('a second empty answer becomes a visible error, marked for this run', async () => {
    const run = fakeRun();
    const first = await after({ messages: [...asked] }, answer('a2'), run);

    const { step, state } = await after(
      first.state,
      answer('a3', { additional_kwargs: { reasoning_content: 'hm' } }),
      run,
    );

    expect(step?.again).toBeUndefined();
    expect(state.messages).toHaveLength(5);
    expect(state.messages.at(-1)).toMatchObject({
      id: 'a3',
      content: expect.stringMatching(/^The model ended without an answer/) as string,
      additional_kwargs: {
        reasoning_content: 'hm',
        deerflow_error_fallback: true,
        error_reason: 'empty_answer',
        run_id: run.runId,
      },
    });
    expect(run.decisions).toEqual(['terminal-response: retry', 'terminal-response: gave_up']);
  });

  test('a takeover continues the count, another run begins a new one', async () => {
    const first = await after({ messages: [question] }, answer('a1'));

    const takeover = await after(first.state, answer('a2'), fakeRun({ attempt: 2 }));
    const later = await after(first.state, answer('a2'), fakeRun({ runId: '22222222-2222-4222-8222-222222222222' }));

    expect(takeover.step?.again).toBeUndefined();
    expect(later.step?.again).toBe(true);
  });

  test('an empty thread is no reason to fail', async () => {
    const { step, state } = await after({ messages: [] }, answer('a1'));

    expect(step?.again).toBe(true);
    expect(state.messages).toMatchObject([{ name: 'empty_answer_reminder' }]);
    expect(await terminalResponse().afterModel?.({ messages: [] }, fakeRun())).toBeUndefined();
  });
});
