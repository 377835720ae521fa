import { z } from 'zod';
import * as fields from '../../chat/fields.js';

/** What OpenRouter takes; what the chosen model does not support is ignored. */

const Parts = z.array(z.looseObject({ type: z.string(), text: z.string().optional() })).min(1);
const Content = z.union([z.string(), Parts]);
const common = { format: z.string().nullish(), id: z.string().nullish(), index: z.int().optional() };

export const ReasoningDetail = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('reasoning.summary'), summary: z.string(), ...common }),
  z.looseObject({ type: z.literal('reasoning.encrypted'), data: z.string(), ...common }),
  z.looseObject({
    type: z.literal('reasoning.text'),
    text: z.string().nullish(),
    signature: z.string().nullish(),
    ...common,
  }),
]);

export type ReasoningDetail = z.infer<typeof ReasoningDetail>;

const Message = z.discriminatedUnion('role', [
  z.looseObject({ role: z.enum(['system', 'developer', 'user']), content: Content, name: z.string().optional() }),
  z.looseObject({
    role: z.literal('assistant'),
    content: Content.nullish(),
    name: z.string().optional(),
    reasoning: z.string().nullish(),
    reasoning_details: z.array(ReasoningDetail).optional(),
    tool_calls: z
      .array(
        z.looseObject({
          id: z.string().min(1),
          type: z.literal('function'),
          function: z.looseObject({ name: z.string().min(1), arguments: z.string() }),
        }),
      )
      .optional(),
  }),
  z.looseObject({ role: z.literal('tool'), content: Content, tool_call_id: z.string().min(1) }),
]);

export const OpenrouterChatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(Message).min(1),
  max_tokens: fields.tokenLimit,
  max_completion_tokens: fields.tokenLimit,
  temperature: fields.numberFrom(0, 2),
  top_p: fields.numberFrom(0, 1),
  stream: z.boolean().optional(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  reasoning: z
    .looseObject({
      effort: z.enum(['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none']).nullish(),
      max_tokens: z.int().nullish(),
      exclude: z.boolean().optional(),
      enabled: z.boolean().optional(),
    })
    .optional(),
  tools: z.array(fields.functionTool).optional(),
  tool_choice: fields.toolChoice.optional(),
  provider: fields.jsonObject.nullish(),
});

export type OpenrouterChatRequest = z.infer<typeof OpenrouterChatRequest>;
