import { z } from 'zod';
import { dialectNames, protocolNames } from '../common/dialects.js';
import { AnthropicFile } from './anthropic-schema.js';
import { PricingFile } from './usage-schema.js';

/** An entry of `models` in config.yaml. */
export const ModelFile = z
  .object({
    name: z.string().min(1).max(200).describe('Name that requests use; unique'),
    display_name: z.string().optional().describe('Name shown to users; default: name'),
    description: z.string().optional().describe('One line shown to users'),
    use: z.string().optional().describe('Client class in DeerFlow: decides protocol, address, key and dialect'),
    protocol: z
      .enum(protocolNames)
      .optional()
      .describe(
        'chat_completions, responses (OpenAI) or messages (Anthropic); default: as use_responses_api and the class of `use` say, else chat_completions',
      ),
    use_responses_api: z
      .boolean()
      .optional()
      .describe("LangChain's name for protocol: responses; default: output_version is responses/v1"),
    output_version: z.string().optional().describe("LangChain's; responses/v1 means protocol: responses"),
    dialect: z
      .enum(dialectNames)
      .optional()
      .describe("The provider's variant of the protocol; default: of the host of base_url, else of the class of `use`"),
    model: z.string().min(1).optional().describe("The provider's name of the model; default: name"),
    api_key: z.string().min(1).optional().describe('Default: $OPENAI_API_KEY'),
    base_url: z
      .url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
      .optional()
      .describe('Default: $OPENAI_BASE_URL, else https://api.openai.com/v1'),
    max_tokens: z.int().min(1).optional().describe('Longest answer, in tokens'),
    max_input_tokens: z
      .int()
      .min(1)
      .optional()
      .describe('What the model can read, in tokens; for fractions of it; context_window counts as well'),
    temperature: z.number().min(0).max(2).optional().describe('0 to 2'),
    supports_thinking: z.boolean().default(false).describe('Requests may switch thinking on'),
    supports_vision: z.boolean().default(false).describe('The model reads images'),
    supports_reasoning_effort: z.boolean().default(false).describe('Requests may send reasoning_effort'),
    send_reasoning: z
      .boolean()
      .optional()
      .describe('Send the reasoning of earlier answers back; default: as the class of `use` and the dialect do'),
    when_thinking_enabled: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Body fields merged in while thinking is on'),
    when_thinking_disabled: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Body fields merged in while thinking is off; default: what turns when_thinking_enabled off'),
    thinking: z.record(z.string(), z.unknown()).optional().describe('Shortcut for when_thinking_enabled.thinking'),
    fallbacks: z
      .array(z.string().min(1))
      .max(5, 'must name at most 5 models')
      .default([])
      .describe('Names of models that answer, in this order, while this one is down, busy, out of quota or too small'),
    default_headers: z.record(z.string(), z.string()).optional().describe('HTTP headers added to each request'),
    default_query: z
      .record(z.string(), z.string())
      .optional()
      .describe('Query parameters added to each request, such as the api-version of Azure'),
    pricing: PricingFile.optional().describe(
      'Prices of a million tokens: {currency: USD, input, cached_input, cache_write, output, reasoning}; of those left out cached_input and cache_write are input, reasoning is output, input and output are 0',
    ),
    anthropic: AnthropicFile.optional().describe(
      'Options of the protocol messages (docs/models.md): {prompt_caching, cache_ttl, thinking, thinking_off, thinking_budget, bound_thinking, sampling, effort, system_messages}; default: by the name of the model',
    ),
    extra_body: z.record(z.string(), z.unknown()).optional().describe('Body fields added to each request'),
  })
  .describe('One model');
