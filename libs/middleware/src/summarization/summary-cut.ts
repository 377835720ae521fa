import type { ContextSize } from '@caribou/config';
import type { AiMessage, Message } from '@caribou/contracts';
import { isUserMessage } from '@caribou/core';
import { startOfNewest } from './context-size.js';

export interface Cut {
  /** Taken out, in order. */
  readonly removed: readonly Message[];
  /** What stays, in order and as it was. */
  readonly kept: readonly Message[];
}

/**
 * Parts a thread's messages into an older part and the newest that stay.
 *
 * C1 An AI message and the results of its calls stay or go together: the border moves back to the AI message.
 * C2 The newest message stays, with what belongs to it, however little is to be kept.
 * C3 Of the older part stay: the last message of the person; system messages, as a summary is told as data and cannot
 *    instruct; and the last AI message when a call of it has no result, as the loop may still answer it.
 * C4 Cutting what was kept removes nothing more.
 */
export function cutMessages(messages: readonly Message[], keep: ContextSize, maxInputTokens: number | undefined): Cut {
  const starts = unitStarts(messages);
  const border = borderOf(starts, startOfNewest(messages, keep, maxInputTokens));
  const person = messages.findLastIndex(isUserMessage);
  const pending = pendingAnswer(messages, starts);
  const stays = (message: Message, at: number): boolean =>
    at >= border || at === person || message.type === 'system' || starts[at] === pending;
  return {
    removed: messages.filter((message, at) => !stays(message, at)),
    kept: messages.filter(stays),
  };
}

/** For each message the index of the AI message it answers a call of, else its own; the newest asker under an id counts. */
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
