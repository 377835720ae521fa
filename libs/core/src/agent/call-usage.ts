import { isRecord, omitUndefined, type UsageMetadata } from '@caribou/contracts';
import type { CallUsage } from './middleware.js';

/** The tokens of a model call by the usage of its answer, with those of the cache and of reasoning if they were reported. */
export function callUsage(
  { caller, model }: Pick<CallUsage, 'caller' | 'model'>,
  { input_tokens: inputTokens, output_tokens: outputTokens, ...details }: UsageMetadata,
): CallUsage {
  const input = details['input_token_details'];
  const output = details['output_token_details'];
  return {
    ...{ caller, model, inputTokens, outputTokens },
    ...omitUndefined({
      cachedInputTokens: countIn(input, 'cache_read'),
      cacheWriteTokens: countIn(input, 'cache_creation'),
      reasoningTokens: countIn(output, 'reasoning'),
    }),
  };
}

function countIn(details: unknown, name: string): number | undefined {
  const count = isRecord(details) ? details[name] : undefined;
  return typeof count === 'number' && Number.isFinite(count) && count > 0 ? count : undefined;
}
