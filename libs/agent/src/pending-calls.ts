import type { AiMessage, InvalidToolCall, ThreadState, ToolCall } from '@caribou/contracts';

/** The tool calls of the last AI message that have no answer yet. */
export interface PendingCalls {
  readonly valid: readonly ToolCall[];
  readonly invalid: readonly InvalidToolCall[];
}

export function pendingCalls(state: ThreadState): PendingCalls {
  const asking = state.messages.findLast((message): message is AiMessage => message.type === 'ai');
  if (asking === undefined) return { valid: [], invalid: [] };
  const answered = new Set(
    state.messages.flatMap((message) => (message.type === 'tool' ? [message.tool_call_id] : [])),
  );
  return {
    valid: asking.tool_calls.filter((call) => !answered.has(call.id)),
    invalid: asking.invalid_tool_calls.filter((call) => !answered.has(call.id)),
  };
}

export const hasPending = ({ valid, invalid }: PendingCalls): boolean => valid.length > 0 || invalid.length > 0;
