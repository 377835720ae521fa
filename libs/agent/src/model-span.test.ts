import type { AiMessage } from '@caribou/contracts';
import type { ModelCall, ModelPort } from '@caribou/core';
import { ai, scriptedModel } from '@caribou/testing';
import { modelSpan, providerName } from './model-span.js';

const CALL: ModelCall = { system: '', messages: [], tools: [] };
const model = (over: Partial<ModelPort> = {}): ModelPort => ({
  ...scriptedModel([]),
  ...{ name: 'large', endpoint: { provider: 'api.openai.com/v1', model: 'gpt-9' } },
  ...over,
});
const answer = (over: Partial<AiMessage> = {}): AiMessage => ({ ...ai('Hello'), ...over });

describe('modelSpan', () => {
  test('names provider and model by the conventions, as a request to another system', () => {
    expect(modelSpan(model(), CALL)).toMatchObject({
      ...{ name: 'chat gpt-9', kind: 'client' },
      fields: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-9',
        'caribou.model': 'large',
      },
    });
  });

  test('has temperature and maximum tokens of the call over those of the configuration, and none where none are set', () => {
    const requested = (port: ModelPort, call: Partial<ModelCall> = {}) => {
      const { fields } = modelSpan(port, { ...CALL, ...call });
      return [fields['gen_ai.request.temperature'], fields['gen_ai.request.max_tokens']];
    };
    const configured = model({ temperature: 1, maxTokens: 500 });
    expect(requested(model())).toEqual([undefined, undefined]);
    expect(requested(configured)).toEqual([1, 500]);
    expect(requested(configured, { temperature: 0, maxTokens: 900 })).toEqual([0, 500]);
    expect(requested(model(), { temperature: 0.5, maxTokens: 10 })).toEqual([0.5, 10]);
  });

  test('has what the provider said of its answer, and its tokens with their cost', () => {
    const response_metadata = { model_name: 'gpt-9-2026', id: 'chatcmpl-1', finish_reason: 'stop' };
    const usage_metadata = {
      ...{ input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 },
      input_token_details: { cache_read: 600, cache_creation: 100 },
      output_token_details: { reasoning: 40 },
    };
    const pricing = { currency: 'EUR', input: 2, cachedInput: 0.5, cacheWrite: 2.5, output: 8, reasoning: 10 };

    const span = modelSpan(model({ pricing }), CALL);

    expect(span.resultFields?.(answer({ response_metadata, usage_metadata }))).toEqual({
      'gen_ai.response.model': 'gpt-9-2026',
      'gen_ai.response.id': 'chatcmpl-1',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 1_000,
      'gen_ai.usage.output_tokens': 100,
      'gen_ai.usage.cache_read.input_tokens': 600,
      'gen_ai.usage.cache_creation.input_tokens': 100,
      'gen_ai.usage.reasoning.output_tokens': 40,
      'caribou.cost': 0.00203,
      'caribou.currency': 'EUR',
    });
    expect(span.resultFields?.(answer())).toEqual({});
  });

  test.each([
    ['api.anthropic.com', 'anthropic'],
    ['my-resource.openai.azure.com/openai', 'azure.ai.openai'],
    ['bedrock-runtime.us-east-1.amazonaws.com/v1', 'aws.bedrock'],
    ['api.deepseek.com', 'deepseek'],
    ['api.x.ai/v1', 'x_ai'],
    ['notx.ai', 'notx.ai'],
    ['127.0.0.1:8000/v1', '127.0.0.1'],
  ])('the provider at %s is %s', (provider, name) => {
    expect(providerName(provider)).toBe(name);
  });
});
