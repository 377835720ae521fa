import { isRecord, omitUndefined, type UsageMetadata } from '@caribou/contracts';

/** Tokens of a model call, with its caller and the model's configured name. */
export interface CallUsage {
  readonly caller: 'lead_agent' | 'subagent' | 'middleware';
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Parts of `inputTokens`: read from the provider's cache, and written to it. */
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  /** Part of `outputTokens`. */
  readonly reasoningTokens?: number;
}

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
