import type { AiMessage, Message, ThreadState } from '@caribou/contracts';
import { type Step, RunCancelled } from '@caribou/core';
import { fakeRun, humanMessage, modelFailure, scriptedModel } from '@caribou/testing';
import { cleanTitle, title, type TitleOptions, titleFromText, titleWithoutAnswer } from './title.js';

const answer: AiMessage = {
  type: 'ai',
  id: 'a',
  content: 'It is done.',
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
};
const state = (...messages: readonly Message[]): ThreadState => ({ messages: [...messages] });
const titled = (from: ThreadState, options?: TitleOptions): Promise<Step | undefined> | undefined =>
  title(options).afterModel?.(from, fakeRun());

const exchange = state(humanMessage('Write  a\nprogram'), answer);

describe(title, () => {
  test("without a model the title is the beginning of the user's message", async () => {
    expect(await titled(exchange)).toEqual({ update: { title: 'Write a program' } });
  });

  test.each([
    ['a title', { ...exchange, title: 'old' }],
    ['no answer', state(humanMessage('hi'))],
    ['a second human message', state(humanMessage('hi'), answer, humanMessage('more'), answer)],
    ['no human message', state(answer)],
  ])('a thread with %s gets none', async (_what, from) => {
    expect(await titled(from)).toBeUndefined();
  });

  test('only a title that a model writes is slow', () => {
    const isSlow = (options: TitleOptions, from = exchange) => title(options).isSlowAfterModel?.(from, fakeRun());
    const model = scriptedModel([]);
    expect([isSlow({}), isSlow({ model }), isSlow({ model }, { ...exchange, title: 'old' })]).toEqual([
      false,
      true,
      false,
    ]);
  });

  test('it can be switched off', async () => {
    expect(await titled(exchange, { enabled: false })).toBeUndefined();
  });

  test('messages that middlewares add as human ones do not count', async () => {
    const reminder: Message = { ...humanMessage('mind the loop'), name: 'loop_warning' };

    expect(await titled(state(humanMessage('hi'), reminder, answer))).toEqual({ update: { title: 'hi' } });
  });

  test("a model's answer loses thinking and quotes, and is cut; nothing of it is streamed", async () => {
    const model = scriptedModel([[{ content: ['<think>a program…</th', 'ink>\n"Shell ', 'program”'] }]]);
    const run = fakeRun();
    const from = state(humanMessage('Write a program'), answer);

    expect(await title({ model, maxChars: 10 }).afterModel?.(from, run)).toEqual({ update: { title: 'Shell prog' } });
    expect(run.events).toEqual([]);
    expect(model.calls[0]?.messages[0]?.content).toContain('at most 6 words');
  });

  test('a failing or empty title model leaves the fallback and does not fail the run', async () => {
    for (const script of [{ error: modelFailure({ reason: 'connection' }) }, { content: '  ' }]) {
      expect(await titled(exchange, { model: scriptedModel([script]) })).toEqual({
        update: { title: 'Write a program' },
      });
    }
  });

  test('a model that says nothing in time leaves the fallback', async () => {
    const never = new Promise(() => undefined);
    const model = scriptedModel([{ content: 'late', holdBefore: { delta: 0, until: never } }]);

    expect(await titled(exchange, { model, timeoutMs: 5 })).toEqual({ update: { title: 'Write a program' } });
  });

  test('a cancel ends it', async () => {
    const run = fakeRun();
    const reason = new RunCancelled('interrupt');
    run.abort(reason);

    await expect(title({ model: scriptedModel([{ content: 'x' }]) }).afterModel?.(exchange, run)).rejects.toBe(reason);
  });
});

describe(titleWithoutAnswer, () => {
  test("after a first run without an answer the title is the user's message", () => {
    expect(titleWithoutAnswer(state(humanMessage('Write a program')))).toBe('Write a program');
  });

  test('not where there is one, a second message, nothing said, or titles are off', () => {
    const first = state(humanMessage('hi'));
    expect(titleWithoutAnswer({ ...first, title: 'old' })).toBeUndefined();
    expect(titleWithoutAnswer(state(humanMessage('hi'), humanMessage('more')))).toBeUndefined();
    expect(titleWithoutAnswer(state(answer))).toBeUndefined();
    expect(titleWithoutAnswer(first, { enabled: false })).toBeUndefined();
  });
});

describe(titleFromText, () => {
  test('control characters are no part of a title', () => {
    const words = 'x\u0000\u0007 \u001b[31m\ntitle\u202e';
    expect([titleFromText(words, 60), cleanTitle(words, 60)]).toEqual(['x [31m title', 'x [31m title']);
  });

  test('long text is cut at 50 characters, or fewer, and marked', () => {
    expect(titleFromText('x'.repeat(60), 60)).toBe(`${'x'.repeat(50)}...`);
    expect(titleFromText('x'.repeat(60), 20)).toBe(`${'x'.repeat(20)}...`);
    expect(titleFromText('x'.repeat(50), 60)).toBe('x'.repeat(50));
  });

  test('text of only space is a new conversation, and no emoji is split', () => {
    expect(titleFromText(' \n ', 60)).toBe('New Conversation');
    expect(titleFromText('😀'.repeat(60), 60)).toBe(`${'😀'.repeat(50)}...`);
  });
});

describe(cleanTitle, () => {
  test('an unclosed thought is all thought', () => {
    expect(cleanTitle('<think>never ends', 60)).toBe('');
  });
});
