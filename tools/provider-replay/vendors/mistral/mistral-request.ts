import { z } from 'zod';
import * as fields from '../../chat/fields.js';

/** Mistral's ChatCompletionRequest; what it does not list is forbidden anywhere. */

const Thinking = z.strictObject({
  type: z.literal('thinking'),
  thinking: z.array(fields.textPart),
  signature: z.string().nullish(),
  closed: z.boolean().optional(),
});
const Image = z.strictObject({
  type: z.literal('image_url'),
  image_url: z.union([
    z.string(),
    z.strictObject({ url: z.string(), detail: z.enum(['auto', 'low', 'high']).nullish() }),
  ]),
});
const Parts = z.array(z.discriminatedUnion('type', [fields.textPart, Image, Thinking]));
const Content = z.union([z.string(), Parts]);

const ToolCall = z.strictObject({
  id: z.string().default('null'),
  type: z.literal('function').optional(),
  index: z.int().optional(),
  function: z.strictObject({
    name: z.string(),
    arguments: z.union([z.string(), fields.jsonObject.transform((value) => JSON.stringify(value))]),
  }),
});

const Message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: Content }),
  z.strictObject({ role: z.literal('user'), content: Content.nullable() }),
  z.strictObject({
    role: z.literal('assistant'),
    content: Content.nullish(),
    tool_calls: z.array(ToolCall).nullish(),
    prefix: z.boolean().optional(),
  }),
  z.strictObject({
    role: z.literal('tool'),
    content: Content.nullable(),
    tool_call_id: z.string().nullish(),
    name: z.string().nullish(),
  }),
]);

const Tool = z.strictObject({
  type: z.literal('function').optional(),
  function: z.strictObject({
    name: z.string(),
    description: z.string().optional(),
    strict: z.boolean().optional(),
    parameters: fields.jsonObject,
  }),
});

export const MistralChatRequest = z.strictObject({
  model: z.string().min(1),
  messages: z.array(Message),
  temperature: fields.numberFrom(0, 1.5),
  top_p: fields.numberFrom(0, 1),
  max_tokens: z.int().min(0).nullish(),
  stream: z.boolean().optional(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  random_seed: z.int().min(0).nullish(),
  metadata: fields.jsonObject.nullish(),
  response_format: fields.responseFormat.optional(),
  tools: z.array(Tool).nullish(),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'any', 'required']),
      z.strictObject({ type: z.literal('function').optional(), function: z.strictObject({ name: z.string() }) }),
    ])
    .optional(),
  presence_penalty: fields.numberFrom(-2, 2),
  frequency_penalty: fields.numberFrom(-2, 2),
  n: z.int().min(1).nullish(),
  prediction: fields.jsonObject.optional(),
  parallel_tool_calls: z.boolean().optional(),
  prompt_mode: z.literal('reasoning').nullish(),
  reasoning_effort: z.enum(['none', 'high', 'medium', 'low', 'minimal', 'xhigh']).nullish(),
  prompt_cache_key: z.string().nullish(),
  safe_prompt: z.boolean().optional(),
});

export type MistralChatRequest = z.output<typeof MistralChatRequest>;
