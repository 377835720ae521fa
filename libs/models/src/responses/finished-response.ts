import { isRecord, omitUndefined } from '@caribou/contracts';
import type { ModelDelta } from '@caribou/core';
import { numberIn, textIn } from '../http/narrow.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * Converts the usage of a response to LangChain's `usage_metadata`; undefined without both counts. Field names: OpenAI API
 * reference, "Create a model response", November 2026.
 */
export function usageOf(usage: unknown): ModelDelta['usage'] {
  if (!isRecord(usage)) return undefined;
  const [input, output] = [numberIn(usage['input_tokens']), numberIn(usage['output_tokens'])];
  if (input === undefined || output === undefined) return undefined;
  const inputs = recordIn(usage['input_tokens_details']);
  const outputs = recordIn(usage['output_tokens_details']);
  const ofInput = omitUndefined({
    cache_read: numberIn(inputs['cached_tokens']),
    cache_creation: numberIn(inputs['cache_write_tokens']),
  });
  const reasoning = numberIn(outputs['reasoning_tokens']);
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: numberIn(usage['total_tokens']) ?? input + output,
    ...(Object.keys(ofInput).length === 0 ? {} : { input_token_details: ofInput }),
    ...(reasoning === undefined ? {} : { output_token_details: { reasoning } }),
  };
}

/** Why an incomplete response ended, in the terms of chat completions: it lacks tokens unless a filter stopped it. */
export function incompleteReason(response: Json): string {
  const reason = textIn(recordIn(response['incomplete_details'])['reason']);
  return reason === undefined || reason === 'max_output_tokens' ? 'length' : reason;
}

/** Name of the model and id of the response, under the names that LangChain uses. */
export const metadataOf = (response: Json): Json =>
  omitUndefined({ model_name: textIn(response['model']), id: textIn(response['id']) });

const recordIn = (value: unknown): Json => (isRecord(value) ? value : {});
