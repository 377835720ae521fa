import { type ModelCall, type ModelPort, RunCancelled } from '@caribou/core';
import { fakeRun, modelFailure, type ScriptedAnswer, scriptedModel } from '@caribou/testing';
import { type Answer, askModel } from './ask-model.js';

const call: ModelCall = { system: '', messages: [], tools: [] };
const usage = { input_tokens: 7, output_tokens: 3, total_tokens: 10 };
const ask = (answer: ScriptedAnswer, maxChars = 100): Promise<Answer> =>
  askModel(scriptedModel([answer]), call, { run: fakeRun(), timeoutMs: 5000, maxChars });

describe(askModel, () => {
  test('returns the whole answer without reasoning, and its usage, without publishing events', async () => {
    const run = fakeRun();
    const model = scriptedModel([{ reasoning: ['hm'], content: ['<think>so', '</think> all ', 'is well '], usage }]);

    const answer = await askModel(model, call, { run, timeoutMs: 5000, maxChars: 100 });

    expect(answer).toEqual({
      text: 'all is well',
      usage: [{ caller: 'middleware', model: 'scripted', inputTokens: 7, outputTokens: 3 }],
    });
    expect(run.events).toEqual([]);
  });

  test('reads no more of an answer than it may', async () => {
    expect((await ask({ content: ['abc', 'def', 'ghi'] }, 5)).text).toBe('abcde');
  });

  test('a failing model gives an empty answer, with the reported usage', async () => {
    const answer = await ask({ content: 'half', usage, error: modelFailure({ reason: 'connection' }) });

    expect(answer).toMatchObject({ text: '', usage: [{ inputTokens: 7 }] });
  });

  test('a filtered answer is an empty one', async () => {
    const filtered: ModelPort = {
      ...scriptedModel([]),
      async *stream() {
        yield await Promise.resolve({ content: 'half', finishReason: 'content_filter' });
      },
    };

    expect(await askModel(filtered, call, { run: fakeRun(), timeoutMs: 5000, maxChars: 100 })).toEqual({
      text: '',
      usage: [],
      failure: 'filtered',
    });
  });

  test('a model that does not end in time is an empty answer', async () => {
    const never = new Promise(() => undefined);
    const model = scriptedModel([{ content: 'late', holdBefore: { delta: 1, until: never } }]);

    expect(await askModel(model, call, { run: fakeRun(), timeoutMs: 5, maxChars: 100 })).toEqual({
      text: '',
      usage: [],
      failure: 'late',
    });
  });

  test('a cancel ends it, and other errors are rethrown', async () => {
    const run = fakeRun();
    const reason = new RunCancelled('interrupt');
    run.abort(reason);
    const options = { run, timeoutMs: 5000, maxChars: 100 };
    await expect(askModel(scriptedModel([{ content: 'x' }]), call, options)).rejects.toBe(reason);

    await expect(ask({ error: new TypeError('a defect') })).rejects.toThrow('a defect');
  });
});
