import type { InvalidToolCall, ThreadState, ToolCall } from '@caribou/contracts';

/** The tool calls of the last AI message that have no answer yet. */
export interface PendingCalls {
  readonly valid: readonly ToolCall[];
  readonly invalid: readonly InvalidToolCall[];
}

/** Looks only at the end of the thread, so its cost does not grow with it. */
export function pendingCalls({ messages }: ThreadState): PendingCalls {
  const at = messages.findLastIndex((message) => message.type === 'ai');
  const asking = messages[at];
  if (asking?.type !== 'ai') return { valid: [], invalid: [] };
  const answers = messages.slice(at + 1);
  const answered = new Set(answers.flatMap((message) => (message.type === 'tool' ? [message.tool_call_id] : [])));
  return {
    valid: asking.tool_calls.filter((call) => !answered.has(call.id)),
    invalid: asking.invalid_tool_calls.filter((call) => !answered.has(call.id)),
  };
}

export const hasPending = ({ valid, invalid }: PendingCalls): boolean => valid.length > 0 || invalid.length > 0;
