import type { AiMessage } from '@caribou/contracts';
import { omitUndefined } from '@caribou/contracts';
import {
  billedTokens,
  callUsage,
  costOf,
  type ModelCall,
  type ModelPort,
  type TraceFields,
  type TracedCall,
} from '@caribou/core';

/** Names of providers in OpenTelemetry's registry, by the end of their host names. */
const PROVIDERS: readonly (readonly [host: string, name: string])[] = [
  ['api.openai.com', 'openai'],
  ['openai.azure.com', 'azure.ai.openai'],
  ['models.inference.ai.azure.com', 'azure.ai.inference'],
  ['services.ai.azure.com', 'azure.ai.inference'],
  ['anthropic.com', 'anthropic'],
  ['amazonaws.com', 'aws.bedrock'],
  ['generativelanguage.googleapis.com', 'gcp.gemini'],
  ['aiplatform.googleapis.com', 'gcp.vertex_ai'],
  ['cohere.com', 'cohere'],
  ['cohere.ai', 'cohere'],
  ['deepseek.com', 'deepseek'],
  ['groq.com', 'groq'],
  ['mistral.ai', 'mistral_ai'],
  ['perplexity.ai', 'perplexity'],
  ['x.ai', 'x_ai'],
  ['moonshot.ai', 'moonshot_ai'],
  ['moonshot.cn', 'moonshot_ai'],
];

/**
 * Describes one call of a model by OpenTelemetry's semantic conventions for generative AI 1.41, without texts of users and
 * models: they are not recorded. Cost and configured name have no convention and are Caribou's.
 */
export function modelSpan(model: ModelPort, call: ModelCall): TracedCall<AiMessage> {
  const { endpoint, name } = model;
  return {
    name: `chat ${endpoint.model}`,
    kind: 'client',
    fields: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': providerName(endpoint.provider),
      'gen_ai.request.model': endpoint.model,
      'caribou.model': name,
      ...omitUndefined({
        'gen_ai.request.temperature': call.temperature ?? model.temperature,
        'gen_ai.request.max_tokens': lower(call.maxTokens, model.maxTokens),
      }),
    },
    resultFields: (answer) => ({ ...responseFields(answer), ...usageFields(answer, model) }),
  };
}

/** `provider` is host, port and path of the base URL; other hosts are named by themselves. */
export function providerName(provider: string): string {
  const host = provider.replace(/[:/].*$/, '');
  return PROVIDERS.find(([end]) => host === end || host.endsWith(`.${end}`))?.[1] ?? host;
}

const lower = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);

function responseFields({ response_metadata: metadata }: AiMessage): TraceFields {
  const { model_name: model, id, finish_reason: reason } = metadata;
  return omitUndefined({
    'gen_ai.response.model': typeof model === 'string' ? model : undefined,
    'gen_ai.response.id': typeof id === 'string' ? id : undefined,
    'gen_ai.response.finish_reasons': typeof reason === 'string' ? [reason] : undefined,
  });
}

function usageFields({ usage_metadata: usage }: AiMessage, { name, pricing }: ModelPort): TraceFields {
  if (usage === undefined) return {};
  const call = callUsage({ caller: 'lead_agent', model: name }, usage);
  return {
    'gen_ai.usage.input_tokens': call.inputTokens,
    'gen_ai.usage.output_tokens': call.outputTokens,
    ...omitUndefined({
      'gen_ai.usage.cache_read.input_tokens': call.cachedInputTokens,
      'gen_ai.usage.cache_creation.input_tokens': call.cacheWriteTokens,
      'gen_ai.usage.reasoning.output_tokens': call.reasoningTokens,
    }),
    ...(pricing === undefined
      ? {}
      : { 'caribou.cost': costOf(billedTokens(call), pricing) / 1e6, 'caribou.currency': pricing.currency }),
  };
}
