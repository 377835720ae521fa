import { z } from 'zod';
import { cacheTtls, effortLevels, thinkingOffStyles, thinkingStyles } from '../common/anthropic-config.js';

/** Key `anthropic` of a model. What a model accepts follows from its name, unless a key says otherwise. */
export const AnthropicFile = z.strictObject({
  prompt_caching: z.boolean().optional().describe('Breakpoints for the cache of the provider; default: true'),
  cache_ttl: z.enum(cacheTtls).default('5m').describe('How long the provider keeps a prefix'),
  thinking: z.enum(thinkingStyles).optional().describe('How thinking is switched on'),
  thinking_off: z.enum(thinkingOffStyles).optional().describe('How thinking is switched off'),
  thinking_budget: z.int().min(1024).optional().describe('budget_tokens; default: four fifths of max_tokens'),
  bound_thinking: z.boolean().optional().describe('Send thinking.block_binding, so that stale thoughts are dropped'),
  sampling: z.boolean().optional().describe('The model accepts temperature, top_p and top_k'),
  effort: z.array(z.enum(effortLevels)).optional().describe('Accepted levels of output_config.effort'),
  system_messages: z.boolean().optional().describe('The model accepts messages with the role system'),
});
