import { z } from 'zod';
import * as fields from '../../chat/fields.js';

/** The request of OpenAI's chat completions as its reference lists it; an unknown field is refused. */

const CallId = z.string().min(1).max(40);
const Name = z
  .string()
  .regex(/^[^\s<|\\/>]+$/)
  .max(64)
  .optional();
const Text = z.union([z.string(), z.array(fields.textPart).min(1)]);

const UserPart = z.discriminatedUnion('type', [
  fields.textPart,
  fields.imagePart,
  z.strictObject({
    type: z.literal('input_audio'),
    input_audio: z.strictObject({ data: z.string(), format: z.enum(['wav', 'mp3']) }),
  }),
  z.strictObject({
    type: z.literal('file'),
    file: z.strictObject({
      file_data: z.string().optional(),
      file_id: z.string().optional(),
      filename: z.string().optional(),
    }),
  }),
]);

const AssistantPart = z.discriminatedUnion('type', [
  fields.textPart,
  z.strictObject({ type: z.literal('refusal'), refusal: z.string() }),
]);

const ToolCall = z.strictObject({
  id: CallId,
  type: z.literal('function'),
  function: z.strictObject({ name: fields.functionName, arguments: z.string() }),
});

const Message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.enum(['system', 'developer']), content: Text, name: Name }),
  z.strictObject({ role: z.literal('user'), content: z.union([z.string(), z.array(UserPart).min(1)]), name: Name }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.union([z.string(), z.array(AssistantPart).min(1)]).nullish(),
    refusal: z.string().nullish(),
    name: Name,
    audio: z.strictObject({ id: z.string() }).nullish(),
    // The guides append the whole message of an answer.
    annotations: z.array(fields.jsonObject).nullish(),
    tool_calls: z.array(ToolCall).min(1).max(128).optional(),
  }),
  z.strictObject({ role: z.literal('tool'), content: Text, tool_call_id: CallId }),
]);

export const OpenaiChatRequest = z.strictObject({
  model: z.string().min(1),
  messages: z.array(Message).min(1),
  frequency_penalty: fields.numberFrom(-2, 2),
  logit_bias: z.record(z.string(), z.number()).nullish(),
  logprobs: z.boolean().nullish(),
  max_completion_tokens: fields.tokenLimit,
  max_tokens: fields.tokenLimit,
  metadata: z.record(z.string().max(64), z.string().max(512)).nullish(),
  modalities: z.array(z.enum(['text', 'audio'])).nullish(),
  n: z.int().min(1).max(128).nullish(),
  parallel_tool_calls: z.boolean().optional(),
  prediction: fields.jsonObject.nullish(),
  presence_penalty: fields.numberFrom(-2, 2),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.enum(['in_memory', '24h']).nullish(),
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  response_format: fields.responseFormat.optional(),
  safety_identifier: z.string().max(64).nullish(),
  seed: z.int().nullish(),
  service_tier: z.enum(['auto', 'default', 'flex', 'scale', 'priority']).nullish(),
  stop: fields.stop,
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({ include_usage: z.boolean().optional(), include_obfuscation: z.boolean().optional() })
    .nullish(),
  temperature: fields.numberFrom(0, 2),
  tool_choice: fields.toolChoice.optional(),
  tools: z.array(fields.functionTool).min(1).max(128).optional(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  top_p: fields.numberFrom(0, 1),
  user: z.string().optional(),
  verbosity: z.enum(['low', 'medium', 'high']).nullish(),
});

export type OpenaiChatRequest = z.infer<typeof OpenaiChatRequest>;
