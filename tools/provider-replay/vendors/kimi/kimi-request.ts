import { z } from 'zod';
import * as fields from '../../chat/fields.js';

/** What Kimi's API reference lists; other fields at the top are accepted and ignored. */

const FunctionName = z
  .string()
  .regex(/^[a-zA-Z][a-zA-Z0-9_-]*$/)
  .max(64);
const Parts = z
  .array(z.looseObject({ type: z.enum(['text', 'image_url', 'video_url']), text: z.string().optional() }))
  .min(1);
const Content = z.union([z.string(), Parts]);

const Message = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), content: Content, name: z.string().nullish() }),
  z.looseObject({ role: z.literal('user'), content: Content, name: z.string().nullish() }),
  z.looseObject({
    role: z.literal('assistant'),
    content: Content.nullish(),
    name: z.string().nullish(),
    partial: z.boolean().optional(),
    reasoning_content: z.string().nullish(),
    tool_calls: z
      .array(
        z.looseObject({
          id: z.string().min(1),
          type: z.literal('function'),
          function: z.looseObject({ name: FunctionName, arguments: z.string() }),
        }),
      )
      .nullish(),
  }),
  z.looseObject({
    role: z.literal('tool'),
    content: Content,
    tool_call_id: z.string().min(1),
    name: z.string().nullish(),
  }),
]);

export const KimiChatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(Message).min(1),
  max_tokens: fields.tokenLimit,
  max_completion_tokens: fields.tokenLimit,
  thinking: z.strictObject({ type: z.enum(['enabled', 'disabled']), keep: z.literal('all').nullish() }).nullish(),
  reasoning_effort: z.enum(['low', 'high', 'max']).nullish(),
  response_format: z.looseObject({ type: z.enum(['text', 'json_object', 'json_schema']) }).nullish(),
  stop: z.union([z.string().max(32), z.array(z.string().max(32)).max(5)]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  temperature: fields.numberFrom(0, 1),
  top_p: fields.numberFrom(0, 1),
  n: z.int().min(1).max(5).nullish(),
  presence_penalty: fields.numberFrom(-2, 2),
  frequency_penalty: fields.numberFrom(-2, 2),
  tools: z
    .array(z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: FunctionName }) }))
    .max(128)
    .nullish(),
  tool_choice: fields.toolChoice.nullish(),
  prompt_cache_key: z.string().nullish(),
  safety_identifier: z.string().nullish(),
});

export type KimiChatRequest = z.infer<typeof KimiChatRequest>;

/** The fields of the reference; what else a request has at its top is ignored. */
export const KIMI_FIELDS: ReadonlySet<string> = new Set(Object.keys(KimiChatRequest.shape));

/** Models that always think, and those that do unless it is turned off. */
export function isThinking({ model, thinking }: KimiChatRequest): boolean {
  if (alwaysThinks(model)) return true;
  return /^kimi-k2\.[56]/.test(model) && thinking?.type !== 'disabled';
}

export const alwaysThinks = (model: string): boolean => /^kimi-(k3|k2\.7-code|k2-thinking)/.test(model);
