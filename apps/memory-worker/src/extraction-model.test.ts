import { emptyMemory, ModelError } from '@caribou/contracts';
import type { ModelCall, ModelCatalog, ModelPort } from '@caribou/core';
import { createExtractionCall } from '@caribou/memory';
import type { UsageLedger } from '@caribou/state';
import { type ScriptedAnswer, scriptedModel } from '@caribou/testing';
import { ExtractionModel } from './extraction-model.js';

const call = createExtractionCall(emptyMemory(), [{ who: 'user', text: 'I live in Oslo' }]);
const thread = { userId: 'alice', threadId: 't1' };
const answer = '{"newFacts":[{"content":"Lives in Oslo","category":"context","confidence":0.9}]}';
const catalog = (model: ModelPort): ModelCatalog => ({ names: [model.name], get: () => model });

function extractionModel(model: ModelPort, timeoutMs = 30_000) {
  const tokens: [string, number][] = [];
  const metrics = { modelTokens: (kind: 'input' | 'output', count: number) => void tokens.push([kind, count]) };
  const entered: unknown[] = [];
  const ledger: Pick<UsageLedger, 'add'> = {
    add: (...given) => {
      entered.push(given);
      return Promise.resolve('fine');
    },
  };
  return {
    extractor: new ExtractionModel({ models: catalog(model), modelName: null, timeoutMs, metrics, ledger }),
    tokens,
    entered,
  };
}
const reasonOf = async (script: ScriptedAnswer | readonly ScriptedAnswer[], timeoutMs?: number): Promise<unknown> => {
  const { extractor } = extractionModel(scriptedModel([script]), timeoutMs);
  const error = await extractor
    .extract(call, { thread, signal: new AbortController().signal })
    .catch((cause: unknown) => cause);
  return error instanceof ModelError ? error.details['reason'] : error;
};

describe(ExtractionModel, () => {
  test('an answer in chunks is parsed, and its tokens are counted', async () => {
    const usage = { input_tokens: 7, output_tokens: 3, total_tokens: 10 };
    const { extractor, tokens, entered } = extractionModel(
      scriptedModel([{ content: [answer.slice(0, 9), answer.slice(9)], usage }]),
    );
    const extraction = await extractor.extract(call, { thread, signal: new AbortController().signal });
    expect(extraction.newFacts).toMatchObject([{ content: 'Lives in Oslo' }]);
    expect(tokens).toEqual([
      ['input', 7],
      ['output', 3],
    ]);
    expect(entered).toEqual([
      [thread, 'memory', [{ caller: 'middleware', model: 'scripted', inputTokens: 7, outputTokens: 3 }]],
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

  test('a silent model times out, and an abort rejects with its reason', async () => {
    const silent: ScriptedAnswer = { content: answer, holdBefore: { delta: 0, until: new Promise(() => undefined) } };
    expect(await reasonOf(silent, 50)).toBe('timeout');
    const stop = new AbortController();
    const extraction = extractionModel(scriptedModel([silent])).extractor.extract(call, {
      thread,
      signal: stop.signal,
    });
    stop.abort(new Error('enough'));
    await expect(extraction).rejects.toThrow('enough');
  });

  test('an endpoint that refuses JSON mode is called without it, from then on at once', async () => {
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
    const { extractor } = extractionModel(picky);
    for (let time = 0; time < 2; time += 1)
      expect((await extractor.extract(call, { thread, signal: new AbortController().signal })).newFacts).toHaveLength(
        1,
      );
    expect(asked).toEqual(['json', undefined, undefined]);
  });

  test('a request that is refused either way is a failure, and JSON mode is tried again', async () => {
    const error = new ModelError('x', { details: { reason: 'bad_request' } });
    const model = scriptedModel([{ error }]);
    const { extractor } = extractionModel(model);
    for (let time = 0; time < 2; time += 1)
      await expect(extractor.extract(call, { thread, signal: new AbortController().signal })).rejects.toBe(error);
    expect(model.calls.map(({ answerFormat }) => answerFormat)).toEqual(['json', undefined, 'json', undefined]);
  });
});
