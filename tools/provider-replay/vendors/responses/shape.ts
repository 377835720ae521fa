import { z } from 'zod';

/** Field by field what `POST /v1/responses` takes. Items and tools that run at the vendor are left out: nothing here can run them. */

const jsonObject = z.record(z.string(), z.unknown());
const Name = z
  .string()
  .regex(/^[a-zA-Z0-9_-]+$/)
  .max(64);
const status = z.enum(['in_progress', 'completed', 'incomplete']).nullish();
const CallId = z.string().min(1).max(64);
const ItemId = z.string().min(1).max(64);

const InputText = z.strictObject({ type: z.literal('input_text'), text: z.string() });
const InputImage = z.strictObject({
  type: z.literal('input_image'),
  image_url: z.string().nullish(),
  file_id: z.string().nullish(),
  detail: z.enum(['auto', 'low', 'high', 'original']).optional(),
});
const InputFile = z.strictObject({
  type: z.literal('input_file'),
  file_data: z.string().optional(),
  file_url: z.string().optional(),
  file_id: z.string().nullish(),
  filename: z.string().optional(),
  detail: z.enum(['auto', 'low', 'high']).optional(),
});
const InputPart = z.discriminatedUnion('type', [InputText, InputImage, InputFile]);
const OutputPart = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('output_text'),
    text: z.string(),
    annotations: z.array(z.unknown()).optional(),
    logprobs: z.array(z.unknown()).optional(),
  }),
  z.strictObject({ type: z.literal('refusal'), refusal: z.string() }),
]);

const InputMessage = z.strictObject({
  type: z.literal('message'),
  role: z.enum(['user', 'system', 'developer']),
  content: z.union([z.string(), z.array(InputPart)]),
  status,
});
const AssistantMessage = z.strictObject({
  type: z.literal('message'),
  role: z.literal('assistant'),
  content: z.union([z.string(), z.array(OutputPart)]),
  id: ItemId.startsWith('msg_').optional(),
  status,
  phase: z.enum(['commentary', 'final_answer']).nullish(),
});
const Message = z.discriminatedUnion('role', [InputMessage, AssistantMessage]);

const FunctionCall = z.strictObject({
  type: z.literal('function_call'),
  id: ItemId.startsWith('fc_').optional(),
  call_id: CallId,
  name: Name,
  arguments: z.string(),
  status,
  caller: z.strictObject({ type: z.literal('direct') }).nullish(),
});
const FunctionCallOutput = z.strictObject({
  type: z.literal('function_call_output'),
  id: ItemId.nullish(),
  call_id: CallId,
  output: z.union([z.string(), z.array(InputPart)]),
  status,
});
const Reasoning = z.strictObject({
  type: z.literal('reasoning'),
  id: ItemId.startsWith('rs_'),
  summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
  content: z.array(z.strictObject({ type: z.literal('reasoning_text'), text: z.string() })).nullish(),
  encrypted_content: z.string().nullish(),
  status,
});
const ItemReference = z.strictObject({ type: z.literal('item_reference'), id: ItemId });

/** An item without a type is a message. */
const Item = z.preprocess(
  (value) =>
    typeof value === 'object' && value !== null && !('type' in value) ? { type: 'message', ...value } : value,
  z.discriminatedUnion('type', [Message, FunctionCall, FunctionCallOutput, Reasoning, ItemReference]),
);

const FunctionTool = z.strictObject({
  type: z.literal('function'),
  name: Name,
  description: z.string().nullish(),
  parameters: jsonObject.nullish(),
  strict: z.boolean().nullish(),
  defer_loading: z.boolean().optional(),
  output_schema: jsonObject.nullish(),
});

const Format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: Name,
    schema: jsonObject,
    description: z.string().optional(),
    strict: z.boolean().nullish(),
  }),
]);

export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

export const ResponsesBody = z.strictObject({
  model: z.string().min(1),
  input: z.union([z.string(), z.array(Item).min(1)]),
  instructions: z.string().nullish(),
  include: z
    .array(z.enum(['reasoning.encrypted_content', 'message.input_image.image_url', 'message.output_text.logprobs']))
    .nullish(),
  max_output_tokens: z.int().min(16).nullish(),
  max_tool_calls: z.int().min(1).nullish(),
  metadata: z.record(z.string().max(64), z.string().max(512)).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  prompt_cache_key: z.string().max(64).nullish(),
  prompt_cache_retention: z.enum(['in_memory', '24h']).nullish(),
  reasoning: z
    .strictObject({
      effort: z.enum(EFFORTS).nullish(),
      summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
      context: z.enum(['auto', 'current_turn', 'all_turns']).nullish(),
    })
    .nullish(),
  safety_identifier: z.string().max(128).nullish(),
  service_tier: z.enum(['auto', 'default', 'flex', 'priority']).nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_obfuscation: z.boolean().optional() }).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  text: z
    .strictObject({ format: Format.optional(), verbosity: z.enum(['low', 'medium', 'high']).nullish() })
    .optional(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.discriminatedUnion('type', [
        z.strictObject({ type: z.literal('function'), name: z.string() }),
        z.strictObject({
          type: z.literal('allowed_tools'),
          mode: z.enum(['auto', 'required']),
          tools: z.array(jsonObject),
        }),
      ]),
    ])
    .optional(),
  tools: z
    .array(z.discriminatedUnion('type', [FunctionTool]))
    .max(128)
    .optional(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  user: z.string().optional(),
});

/** A request whose fields have the right shapes. */
export type ResponsesRequest = z.infer<typeof ResponsesBody>;
export type InputItem = z.infer<typeof Item>;
export type ReasoningItem = z.infer<typeof Reasoning>;
export type MessageItem = z.infer<typeof Message>;
