import { z } from 'zod';
import { EFFORTS } from './models.js';

/** Field by field what `POST /v1/messages` takes. Blocks of the vendor's server tools are left out: nothing here can run them. */

const CacheControl = z.strictObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() });
const cacheControl = CacheControl.nullish();
const ToolUseId = z.string().regex(/^[a-zA-Z0-9_-]+$/);
const ToolName = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/);
const JsonObject = z.record(z.string(), z.unknown());

const Text = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  cache_control: cacheControl,
  citations: z.array(z.unknown()).nullish(),
});

const Base64Data = z.string().regex(/^[A-Za-z0-9+/]+={0,2}$/);
const url = z.strictObject({ type: z.literal('url'), url: z.url({ protocol: /^https?$/ }) });
const file = z.strictObject({ type: z.literal('file'), file_id: z.string().min(1) });

const Image = z.strictObject({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('base64'),
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      data: Base64Data,
    }),
    url,
    file,
  ]),
  cache_control: cacheControl,
  transformations: z.strictObject({ oversized_image: z.enum(['downsize', 'error']).optional() }).nullish(),
});

const Document = z.strictObject({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('base64'), media_type: z.literal('application/pdf'), data: Base64Data }),
    z.strictObject({ type: z.literal('text'), media_type: z.literal('text/plain'), data: z.string() }),
    z.strictObject({ type: z.literal('content'), content: z.union([z.string(), z.array(z.union([Text, Image]))]) }),
    url,
    file,
  ]),
  title: z.string().nullish(),
  context: z.string().nullish(),
  citations: z.strictObject({ enabled: z.boolean().optional() }).nullish(),
  cache_control: cacheControl,
});

const SearchResult = z.strictObject({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: z.array(Text).min(1),
  citations: z.strictObject({ enabled: z.boolean().optional() }).optional(),
  cache_control: cacheControl,
});

const ToolUse = z.strictObject({
  type: z.literal('tool_use'),
  id: ToolUseId,
  name: ToolName,
  input: JsonObject,
  caller: z.strictObject({ type: z.literal('direct') }).optional(),
  toolset_name: z.string().nullish(),
  cache_control: cacheControl,
});

const ToolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: ToolUseId,
  content: z
    .union([z.string(), z.array(z.discriminatedUnion('type', [Text, Image, Document, SearchResult]))])
    .optional(),
  is_error: z.boolean().optional(),
  toolset_name: z.string().nullish(),
  cache_control: cacheControl,
});

const Thinking = z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() });
const RedactedThinking = z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() });

const Block = z.discriminatedUnion('type', [
  Text,
  Image,
  Document,
  SearchResult,
  ToolUse,
  ToolResult,
  Thinking,
  RedactedThinking,
]);

const Message = z.strictObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), z.array(Block)]),
});

const Tool = z.strictObject({
  type: z.literal('custom').nullish(),
  name: ToolName,
  description: z.string().optional(),
  input_schema: z.looseObject({ type: z.literal('object'), properties: JsonObject.nullish() }),
  cache_control: cacheControl,
  strict: z.boolean().optional(),
  eager_input_streaming: z.boolean().nullish(),
  defer_loading: z.boolean().optional(),
  allowed_callers: z.array(z.string()).optional(),
  input_examples: z.array(JsonObject).optional(),
});

const Display = z.enum(['summarized', 'omitted']).nullish();
const BlockBinding = z.strictObject({ prefix_mismatch_behavior: z.enum(['error', 'drop_block']).nullish() });
const ThinkingConfig = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('enabled'),
    budget_tokens: z.int().min(1024),
    display: Display,
    block_binding: BlockBinding.nullish(),
  }),
  z.strictObject({ type: z.literal('adaptive'), display: Display, block_binding: BlockBinding.nullish() }),
  z.strictObject({ type: z.literal('disabled') }),
  z.strictObject({ type: z.literal('between_tools') }),
]);

const parallel = { disable_parallel_tool_use: z.boolean().optional() };
const ToolChoice = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('auto'), ...parallel }),
  z.strictObject({ type: z.literal('any'), ...parallel }),
  z.strictObject({ type: z.literal('tool'), name: z.string(), ...parallel }),
  z.strictObject({ type: z.literal('none') }),
]);

export const MessagesBody = z.strictObject({
  model: z.string().min(1),
  max_tokens: z.int().min(1),
  messages: z.array(Message).min(1).max(100_000),
  system: z.union([z.string(), z.array(Text)]).optional(),
  tools: z.array(Tool).optional(),
  tool_choice: ToolChoice.optional(),
  thinking: ThinkingConfig.optional(),
  output_config: z
    .strictObject({
      effort: z.enum(EFFORTS).nullish(),
      format: z.strictObject({ type: z.literal('json_schema'), schema: JsonObject }).nullish(),
    })
    .optional(),
  cache_control: cacheControl,
  stream: z.boolean().optional(),
  stop_sequences: z.array(z.string().min(1)).optional(),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.int().min(0).optional(),
  metadata: z.strictObject({ user_id: z.string().max(512).nullish() }).optional(),
  service_tier: z.enum(['auto', 'standard_only']).optional(),
  speed: z.enum(['standard', 'fast']).nullish(),
  inference_geo: z.string().nullish(),
  container: z.string().nullish(),
  diagnostics: z.strictObject({ previous_message_id: z.string().nullish() }).nullish(),
});

/** A request whose fields have the right shapes. */
export type MessagesRequest = z.infer<typeof MessagesBody>;
export type RequestMessage = MessagesRequest['messages'][number];
export type RequestBlock = z.infer<typeof Block>;
export type ToolResultBlock = z.infer<typeof ToolResult>;
