import { z } from 'zod';
import type { AiMessage, Message } from './messages.js';

const count = z.number().min(0);

/** Tokens as LangChain counts them. */
export const TokenCounts = z.object({ input_tokens: count, output_tokens: count, total_tokens: count });
export type TokenCounts = z.infer<typeof TokenCounts>;

/** Key under which a task's result, and the message that dispatched it, have the subagent's token usage. */
export const SUBAGENT_USAGE = 'subagent_token_usage';

/**
 * Token usage of subagents: of one task (for its result), or of all tasks of an answer (for the message that dispatched
 * them).
 */
export function subagentUsageOf(message: Message): TokenCounts | undefined {
  const usage = message.additional_kwargs[SUBAGENT_USAGE];
  return usage === undefined ? undefined : TokenCounts.safeParse(usage).data;
}

/**
 * Token usage of the answer itself, without the subagents that it dispatched: the total is the size of the conversation
 * including this answer. Undefined when the provider did not report it.
 */
export function ownUsageOf(message: AiMessage): TokenCounts | undefined {
  const whole = TokenCounts.safeParse(message.usage_metadata).data;
  const others = subagentUsageOf(message);
  if (whole === undefined || others === undefined) return whole;
  const own = {
    input_tokens: Math.max(0, whole.input_tokens - others.input_tokens),
    output_tokens: Math.max(0, whole.output_tokens - others.output_tokens),
    total_tokens: Math.max(0, whole.total_tokens - others.total_tokens),
  };
  return own.total_tokens === 0 ? undefined : own;
}
