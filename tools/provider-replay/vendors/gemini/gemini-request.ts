import { z } from 'zod';
import * as fields from '../../chat/fields.js';

/** What Gemini's OpenAI endpoint takes; it is read into a protocol buffer, so an unknown field anywhere is refused. */

const Text = z.union([z.string(), z.array(fields.textPart).min(1)]);
const UserContent = z.union([
  z.string(),
  z.array(z.discriminatedUnion('type', [fields.textPart, fields.imagePart])).min(1),
]);

const ExtraContent = z.strictObject({
  google: z.strictObject({ thought_signature: z.string().optional(), thought: z.boolean().optional() }),
});

const ToolCall = z.strictObject({
  id: z.string(),
  type: z.literal('function').optional(),
  index: z.int().optional(),
  function: z.strictObject({ name: z.string().min(1), arguments: z.string() }),
  extra_content: ExtraContent.optional(),
});

const Message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.enum(['system', 'developer']), content: Text, name: z.string().optional() }),
  z.strictObject({ role: z.literal('user'), content: UserContent, name: z.string().optional() }),
  z.strictObject({
    role: z.literal('assistant'),
    content: Text.nullish(),
    name: z.string().optional(),
    refusal: z.string().nullish(),
    tool_calls: z.array(ToolCall).optional(),
    extra_content: ExtraContent.optional(),
  }),
  z.strictObject({ role: z.literal('tool'), content: Text, tool_call_id: z.string(), name: z.string().optional() }),
]);

const ThinkingConfig = z.strictObject({
  include_thoughts: z.boolean().optional(),
  thinking_budget: z.int().optional(),
  thinking_level: z.enum(['minimal', 'low', 'medium', 'high']).optional(),
});

export const GeminiChatRequest = z.strictObject({
  model: z.string().min(1),
  messages: z.array(Message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_usage: z.boolean().optional() }).nullish(),
  temperature: fields.numberFrom(0, 2),
  top_p: fields.numberFrom(0, 1),
  max_tokens: fields.tokenLimit,
  max_completion_tokens: fields.tokenLimit,
  n: z.int().min(1).max(8).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(5)]).nullish(),
  seed: z.int().nullish(),
  tools: z.array(fields.functionTool).optional(),
  tool_choice: fields.toolChoice.optional(),
  parallel_tool_calls: z.boolean().optional(),
  response_format: fields.responseFormat.optional(),
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high']).nullish(),
  user: z.string().optional(),
  extra_body: z
    .strictObject({
      google: z.strictObject({
        thinking_config: ThinkingConfig.optional(),
        cached_content: z.string().optional(),
        thought_tag_marker: z.string().optional(),
      }),
    })
    .optional(),
});

export type GeminiChatRequest = z.infer<typeof GeminiChatRequest>;
