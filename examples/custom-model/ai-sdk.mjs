import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { toPrompt, toTools } from './prompt.mjs';
import { DeltaReader } from './deltas.mjs';

/**
 * @typedef {import('../../libs/extensions/src/index.js').Toolkit} Toolkit Types only: nothing of Caribou is imported
 *   when this runs. Remove the line where Caribou's sources are not available.
 */

/**
 * A model of any provider of the AI SDK. Exchange the provider in `open` for another one, such as `createAmazonBedrock`.
 *
 * @param {Pick<Toolkit, 'defineModel' | 'textOf' | 'z'>} caribou
 * @param {Readonly<Record<string, unknown>>} options `{model, base_url, api_key}`: keys of the entry in config.yaml
 */
export function aiSdkModel({ defineModel, textOf, z }, options) {
  const {
    model,
    base_url: baseURL,
    api_key: apiKey,
  } = z.strictObject({ model: z.string(), base_url: z.url(), api_key: z.string().optional() }).parse(options);
  return wrap(
    createOpenAICompatible({
      ...(apiKey === undefined ? {} : { apiKey }),
      name: 'ai-sdk',
      baseURL,
      includeUsage: true,
    }).languageModel(model),
    {
      defineModel,
      textOf,
    },
  );
}

/**
 * The model of Caribou for a language model of the AI SDK (specification v3). Retries are Caribou's.
 *
 * @param {import('@ai-sdk/provider').LanguageModelV3} languageModel
 * @param {Pick<Toolkit, 'defineModel' | 'textOf'>} caribou
 */
export const wrap = (languageModel, { defineModel, textOf }) =>
  defineModel({
    async *stream(call, { signal }) {
      const { stream } = await languageModel.doStream({
        prompt: toPrompt(call, textOf),
        tools: toTools(call.tools),
        ...(call.toolChoice === undefined || call.tools.length === 0 ? {} : { toolChoice: { type: call.toolChoice } }),
        ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
        ...(call.maxTokens === undefined ? {} : { maxOutputTokens: call.maxTokens }),
        ...(call.answerFormat === 'json' ? { responseFormat: { type: 'json' } } : {}),
        abortSignal: signal,
      });
      const reader = new DeltaReader();
      for await (const part of stream) {
        if (part.type === 'error') throw part.error;
        const delta = reader.read(part);
        if (delta !== undefined) yield delta;
      }
    },
  });
