import type { InvalidToolCall, Message, ToolCall } from '@caribou/contracts';

/** The tool calls of a thread's last answer that have no result yet. */
export interface PendingCalls {
  readonly valid: readonly ToolCall[];
  /** Calls whose arguments could not be read. */
  readonly invalid: readonly InvalidToolCall[];
}

/** Reads only the end of the thread, so its cost does not depend on the thread's length. */
export function pendingCalls({ messages }: { readonly messages: readonly Message[] }): PendingCalls {
  const at = messages.findLastIndex((message) => message.type === 'ai');
  const answer = messages[at];
  if (answer?.type !== 'ai') return { valid: [], invalid: [] };
  const later = messages.slice(at + 1);
  const answered = new Set(later.flatMap((message) => (message.type === 'tool' ? [message.tool_call_id] : [])));
  return {
    valid: answer.tool_calls.filter((call) => !answered.has(call.id)),
    invalid: answer.invalid_tool_calls.filter((call) => !answered.has(call.id)),
  };
}

export const hasPending = ({ valid, invalid }: PendingCalls): boolean => valid.length > 0 || invalid.length > 0;
