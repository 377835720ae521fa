import { isRecord, omitUndefined } from '@caribou/contracts';
import type { ModelDelta } from '@caribou/core';

type Json = Readonly<Record<string, unknown>>;
type Usage = NonNullable<ModelDelta['usage']>;

/**
 * Converts the provider's usage to LangChain's `usage_metadata`; undefined without both counts. Gemini and xAI leave thoughts out of
 * `completion_tokens`, so that the output is what the total has beyond the prompt. Names of cached tokens: OpenAI's
 * `prompt_tokens_details.cached_tokens`, DeepSeek's `prompt_cache_hit_tokens`, Kimi's `cached_tokens`; of tokens written to a cache:
 * OpenRouter's `cache_write_tokens`, `cache_creation_tokens` and `cache_creation_input_tokens` of gateways to Anthropic.
 */
export function usageOf(usage: Json): Usage | undefined {
  const [input, answer] = [numberIn(usage['prompt_tokens']), numberIn(usage['completion_tokens'])];
  if (input === undefined || answer === undefined) return undefined;
  const total = Math.max(numberIn(usage['total_tokens']) ?? 0, input + answer);
  const output = total - input;
  const prompt = recordIn(usage['prompt_tokens_details']);
  const completion = recordIn(usage['completion_tokens_details']);
  const thoughts = output > answer ? output - answer : undefined;
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: total,
    ...details('input_token_details', {
      cache_read: first(prompt['cached_tokens'], usage['prompt_cache_hit_tokens'], usage['cached_tokens']),
      cache_creation: first(
        prompt['cache_write_tokens'],
        prompt['cache_creation_tokens'],
        usage['cache_creation_input_tokens'],
      ),
    }),
    ...details('output_token_details', { reasoning: first(completion['reasoning_tokens'], thoughts) }),
  };
}

function details(key: string, counts: Readonly<Record<string, number | undefined>>): Json {
  const known = omitUndefined(counts);
  return Object.keys(known).length === 0 ? {} : { [key]: known };
}

const first = (...values: readonly unknown[]): number | undefined =>
  values.map(numberIn).find((value) => value !== undefined);

const recordIn = (value: unknown): Json => (isRecord(value) ? value : {});

const numberIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
