import { z } from 'zod';
import { hasCalls, isJsonObject, textOfContent } from '../../chat/conversation.js';
import * as fields from '../../chat/fields.js';
import type { IssuedReasoning } from '../../chat/issued-reasoning.js';
import { pairingFault } from '../../chat/pairing.js';
import { pairingRefusal, refuse } from './minimax-errors.js';

const Parts = z.array(z.looseObject({ type: z.enum(['text', 'image_url']), text: z.string().optional() })).min(1);
const Content = z.union([z.string(), Parts]);
const Name = z.string().optional();

const ToolCall = z.looseObject({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.looseObject({ name: fields.functionName, arguments: z.string() }),
});

const ReasoningDetail = z.looseObject({ type: z.string(), text: z.string().optional() });

const Message = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), content: Content, name: Name }),
  z.looseObject({ role: z.literal('user'), content: Content, name: Name }),
  z.looseObject({
    role: z.literal('assistant'),
    content: Content.nullish(),
    name: Name,
    reasoning_details: z.array(ReasoningDetail).optional(),
    tool_calls: z.array(ToolCall).optional(),
  }),
  z.looseObject({ role: z.literal('tool'), content: Content, tool_call_id: z.string().min(1) }),
]);

export const MinimaxChatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(Message).min(1),
  max_tokens: fields.tokenLimit,
  max_completion_tokens: fields.tokenLimit,
  reasoning_split: z.boolean().optional(),
  thinking: z.looseObject({ type: z.enum(['disabled', 'adaptive']) }).optional(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  temperature: z.number().gt(0).max(1).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  n: z.literal(1).nullish(),
  tools: z
    .array(z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: fields.functionName }) }))
    .optional(),
  tool_choice: z.enum(['auto', 'none']).optional(),
});

export type MinimaxChatRequest = z.infer<typeof MinimaxChatRequest>;
type Assistant = Extract<MinimaxChatRequest['messages'][number], { role: 'assistant' }>;

/** OpenAI's parameters that MiniMax documents to ignore. */
export const MINIMAX_IGNORES = ['presence_penalty', 'frequency_penalty', 'logit_bias'] as const;

/** What the server issued: the content with its tags, and the thinking that was split off. */
export interface IssuedByMinimax {
  readonly inline: IssuedReasoning;
  readonly split: IssuedReasoning;
}

/** @throws Refusal */
export function checkMinimaxRules({ messages }: MinimaxChatRequest, issued: IssuedByMinimax): void {
  checkSystem(messages);
  const names = new Set(messages.flatMap((message) => (message.role === 'user' ? [message.name ?? ''] : [])));
  if (names.size > 1) throw refuse('names of users', 'user name must be consistent');
  const fault = pairingFault(messages);
  if (fault !== undefined) throw pairingRefusal(fault);
  for (const message of messages) {
    if (message.role === 'assistant' && hasCalls(message)) checkCalls(message, issued);
  }
}

function checkSystem(messages: MinimaxChatRequest['messages']): void {
  const systems = messages.flatMap(({ role }, at) => (role === 'system' ? [at] : []));
  if (systems.length > 1) throw refuse('one system message', 'invalid chat setting');
  if ((systems[0] ?? 0) > 0) throw refuse('system message first', 'chat content has invalid message role: system');
}

/** The whole message must come back: its `<think>` inline, or the details that were split off. */
function checkCalls(message: Assistant, { inline, split }: IssuedByMinimax): void {
  const calls = message.tool_calls ?? [];
  for (const { id, function: made } of calls) {
    if (!isJsonObject(made.arguments))
      throw refuse('arguments', `invalid function arguments json string, tool_call_id: ${id}`);
  }
  const details = (message.reasoning_details ?? []).map(({ text }) => text ?? '').join('');
  if (inline.contradicts(calls, textOfContent(message.content)) || split.contradicts(calls, details)) {
    throw refuse('reasoning', 'the thinking of an assistant message with tool calls must be preserved completely');
  }
}
