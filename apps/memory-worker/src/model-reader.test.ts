import { emptyMemory, ModelError } from '@caribou/contracts';
import type { ModelCall, ModelCatalog, ModelPort } from '@caribou/core';
import { extractionCall } from '@caribou/memory';
import { type ScriptedAnswer, scriptedModel } from '@caribou/testing';
import { ModelReader } from './model-reader.js';

const call = extractionCall(emptyMemory(), [{ who: 'person', text: 'I live in Oslo' }]);
const answer = '{"newFacts":[{"content":"Lives in Oslo","category":"context","confidence":0.9}]}';
const catalog = (model: ModelPort): ModelCatalog => ({ names: [model.name], get: () => model });

function readerOf(model: ModelPort, timeoutMs = 30_000) {
  const tokens: [string, number][] = [];
  const metrics = { modelTokens: (kind: 'input' | 'output', count: number) => void tokens.push([kind, count]) };
  return { reader: new ModelReader({ models: catalog(model), modelName: null, timeoutMs, metrics }), tokens };
}
const reasonOf = async (script: ScriptedAnswer | readonly ScriptedAnswer[], timeoutMs?: number): Promise<unknown> => {
  const { reader } = readerOf(scriptedModel([script]), timeoutMs);
  const error = await reader.read(call, new AbortController().signal).catch((cause: unknown) => cause);
  return error instanceof ModelError ? error.details['reason'] : error;
};

describe(ModelReader, () => {
  test('an answer in pieces is read, and its tokens are counted', async () => {
    const usage = { input_tokens: 7, output_tokens: 3, total_tokens: 10 };
    const { reader, tokens } = readerOf(scriptedModel([{ content: [answer.slice(0, 9), answer.slice(9)], usage }]));
    const extraction = await reader.read(call, new AbortController().signal);
    expect(extraction.newFacts).toMatchObject([{ content: 'Lives in Oslo' }]);
    expect(tokens).toEqual([
      ['input', 7],
      ['output', 3],
    ]);
  });

  test.each<[string, ScriptedAnswer]>([
    ['bad_answer', { content: 'I would rather not' }],
    ['length', { content: answer, finishReason: 'length' }],
    ['content_filter', { content: answer, finishReason: 'content_filter' }],
    ['too_large', { content: Array.from({ length: 30 }, () => 'x'.repeat(10_000)) }],
    ['server', { error: new ModelError('x', { details: { reason: 'server' } }) }],
  ])('%s is a failure with its reason', async (reason, script) => {
    expect(await reasonOf(script)).toBe(reason);
  });

  test('a model that is silent for too long is given up, and an abort is passed on as it is', async () => {
    const silent: ScriptedAnswer = { content: answer, holdBefore: { delta: 0, until: new Promise(() => undefined) } };
    expect(await reasonOf(silent, 50)).toBe('timeout');
    const stop = new AbortController();
    const reading = readerOf(scriptedModel([silent])).reader.read(call, stop.signal);
    stop.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
  });

  test('an endpoint that refuses the wish for JSON is asked without it, from then on at once', async () => {
    const asked: ModelCall['answerFormat'][] = [];
    const willing = scriptedModel([{ content: answer }]);
    const picky: ModelPort = {
      ...willing,
      stream: (given, options) => {
        asked.push(given.answerFormat);
        if (given.answerFormat === undefined) return willing.stream(given, options);
        throw new ModelError('x', { details: { reason: 'bad_request' } });
      },
    };
    const { reader } = readerOf(picky);
    for (let time = 0; time < 2; time += 1)
      expect((await reader.read(call, new AbortController().signal)).newFacts).toHaveLength(1);
    expect(asked).toEqual(['json', undefined, undefined]);
  });

  test('a request that is refused either way is a failure, and the wish is tried again', async () => {
    const error = new ModelError('x', { details: { reason: 'bad_request' } });
    const model = scriptedModel([{ error }]);
    const { reader } = readerOf(model);
    for (let time = 0; time < 2; time += 1)
      await expect(reader.read(call, new AbortController().signal)).rejects.toBe(error);
    expect(model.calls.map(({ answerFormat }) => answerFormat)).toEqual(['json', undefined, 'json', undefined]);
  });
});
