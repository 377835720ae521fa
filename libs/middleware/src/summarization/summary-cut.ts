import type { ContextSize } from '@caribou/config';
import type { AiMessage, Message } from '@caribou/contracts';
import { isUserMessage } from '@caribou/core';
import { startOfNewest } from './context-size.js';

export interface Cut {
  /** Messages to remove, in order. */
  readonly removed: readonly Message[];
  /** The remaining messages, unchanged and in order. */
  readonly kept: readonly Message[];
}

/**
 * Divides a thread's messages into an older part to remove and a newest part to keep.
 *
 * C1 An AI message and the results of its calls are kept or removed together: the border moves back to the AI message.
 * C2 The newest message and what belongs to it are always kept.
 * C3 Kept from the older part: the user's last message; system messages, as a summary is data and cannot instruct; and
 *    the last AI message when one of its calls has no result, as the loop may still answer it.
 * C4 Cutting the kept messages again removes nothing.
 */
export function cutMessages(messages: readonly Message[], keep: ContextSize, maxInputTokens: number | undefined): Cut {
  const starts = unitStarts(messages);
  const border = borderOf(starts, startOfNewest(messages, keep, maxInputTokens));
  const lastUser = messages.findLastIndex(isUserMessage);
  const pending = pendingAnswer(messages, starts);
  const stays = (message: Message, at: number): boolean =>
    at >= border || at === lastUser || message.type === 'system' || starts[at] === pending;
  return {
    removed: messages.filter((message, at) => !stays(message, at)),
    kept: messages.filter(stays),
  };
}

/**
 * Returns for each message the index of the AI message whose call it answers, else its own; of calls with the same id
 * the newest counts.
 */
function unitStarts(messages: readonly Message[]): readonly number[] {
  const askers = new Map<string, number>();
  return messages.map((message, at) => {
    if (message.type === 'tool') return askers.get(message.tool_call_id) ?? at;
    if (message.type === 'ai') for (const id of callIds(message)) askers.set(id, at);
    return at;
  });
}

const callIds = (message: AiMessage): readonly string[] =>
  [...message.tool_calls, ...message.invalid_tool_calls].map(({ id }) => id);

function borderOf(starts: readonly number[], wanted: number): number {
  let border = Math.min(wanted, starts.length - 1);
  for (let at = starts.length - 1; at >= border; at -= 1) border = Math.min(border, starts[at] ?? at);
  return border;
}

/** Index of the last AI message when a call of it has no result. */
function pendingAnswer(messages: readonly Message[], starts: readonly number[]): number | undefined {
  const at = messages.findLastIndex(({ type }) => type === 'ai');
  const asking = messages[at];
  if (asking?.type !== 'ai') return undefined;
  const results = messages.filter((message, index) => message.type === 'tool' && starts[index] === at);
  const answered = new Set(results.flatMap((message) => (message.type === 'tool' ? [message.tool_call_id] : [])));
  return callIds(asking).some((id) => !answered.has(id)) ? at : undefined;
}
