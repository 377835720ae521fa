import { z } from 'zod';
import { ProviderExtras } from './provider-extras.js';

/**
 * Messages have LangChain's JSON format everywhere, in state, on the bus and in replies: clients read this format, and
 * a second one would have to be converted on every token.
 */
const Json = z.record(z.string(), z.unknown());

/** A part of a message's content: text, an image by URL, or a provider's own block. */
export const ContentBlock = z.looseObject({ type: z.string() });
export type ContentBlock = z.infer<typeof ContentBlock>;

export const Content = z.union([z.string(), z.array(z.union([ContentBlock, z.string()]))]);
export type Content = z.infer<typeof Content>;

export const ToolCall = z.object({
  name: z.string(),
  args: Json,
  id: z.string(),
  type: z.literal('tool_call'),
});
export type ToolCall = z.infer<typeof ToolCall>;

/** A tool call whose arguments are not a JSON object; it gets an error as its result and is never executed. */
export const InvalidToolCall = z.object({
  name: z.string(),
  args: z.string(),
  id: z.string(),
  error: z.string(),
  type: z.literal('invalid_tool_call'),
});
export type InvalidToolCall = z.infer<typeof InvalidToolCall>;

export const UsageMetadata = z.looseObject({
  input_tokens: z.number(),
  output_tokens: z.number(),
  total_tokens: z.number(),
});
export type UsageMetadata = z.infer<typeof UsageMetadata>;

const common = {
  id: z.string(),
  content: Content,
  name: z.string().nullish(),
  additional_kwargs: Json,
  response_metadata: Json,
};

export const HumanMessage = z.object({ type: z.literal('human'), ...common });
export type HumanMessage = z.infer<typeof HumanMessage>;

export const SystemMessage = z.object({ type: z.literal('system'), ...common });
export type SystemMessage = z.infer<typeof SystemMessage>;

export const AiMessage = z.object({
  type: z.literal('ai'),
  ...common,
  tool_calls: z.array(ToolCall),
  invalid_tool_calls: z.array(InvalidToolCall),
  usage_metadata: UsageMetadata.optional(),
  provider_extras: ProviderExtras.optional(),
});
export type AiMessage = z.infer<typeof AiMessage>;

export const ToolMessage = z.object({
  type: z.literal('tool'),
  ...common,
  tool_call_id: z.string(),
  name: z.string(),
  status: z.enum(['success', 'error']),
  artifact: z.unknown().optional(),
});
export type ToolMessage = z.infer<typeof ToolMessage>;

export const Message = z.discriminatedUnion('type', [HumanMessage, SystemMessage, AiMessage, ToolMessage]);
export type Message = z.infer<typeof Message>;

/** A message as clients see it. */
export const ShownMessage = z.discriminatedUnion('type', [
  HumanMessage,
  SystemMessage,
  AiMessage.omit({ provider_extras: true }),
  ToolMessage,
]);

/** Removes a message (or all, with `REMOVE_ALL`) from the list. */
export const RemoveMessage = z.object({ type: z.literal('remove'), id: z.string() });
export type RemoveMessage = z.infer<typeof RemoveMessage>;

/** The id of a RemoveMessage that empties the list. */
export const REMOVE_ALL = '__remove_all__';

/**
 * Key of `additional_kwargs`, written by the server only, which marks a client's message that has a name or is hidden,
 * as otherwise only messages of middlewares are.
 */
export const FROM_CLIENT = 'deerflow_from_client';

/** Key of `additional_kwargs`, written by the server only: who gave the message another content, and when. */
export const EDITED = 'deerflow_edited';

/** Whether a message has the name and marks of a plain user message; middlewares name or hide theirs. */
export const hasPlainUserMarks = (name: string | null | undefined, marks: Readonly<Record<string, unknown>>): boolean =>
  [undefined, null, '', 'user-input'].includes(name) && marks['hide_from_ui'] !== true;

/** Whether a client wrote the message, rather than a middleware. */
export const isFromClient = (message: Message): message is HumanMessage =>
  message.type === 'human' &&
  (hasPlainUserMarks(message.name, message.additional_kwargs) || message.additional_kwargs[FROM_CLIENT] === true);

/**
 * Whether the message is shown to users: not messages of middlewares to the model, hidden ones, or answers without text
 * and tool calls.
 */
export function isShownToUsers(message: Message): boolean {
  if (message.additional_kwargs['hide_from_ui'] === true) return false;
  if (message.type === 'human') return isFromClient(message);
  if (message.type !== 'ai') return message.type === 'tool';
  return message.tool_calls.length + message.invalid_tool_calls.length > 0 || message.content.length > 0;
}

/** A piece of a tool call while it streams; `name` and `id` only in the first piece of an `index`. */
export interface ToolCallChunk {
  readonly name: string | null;
  readonly args: string;
  readonly id: string | null;
  readonly index: number;
  readonly type: 'tool_call_chunk';
}

/** The text of a message's content: strings and text blocks joined, other blocks left out. */
export function textOf(content: Content): string {
  if (typeof content === 'string') return content;
  return content
    .map((block) => (typeof block === 'string' ? block : typeof block['text'] === 'string' ? block['text'] : ''))
    .join('');
}
