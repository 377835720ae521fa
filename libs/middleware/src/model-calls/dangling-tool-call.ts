import { type AiMessage, isRecord, type Message, type ToolCall, type ToolMessage } from '@caribou/contracts';
import type { AgentMiddleware } from '@caribou/core';

export const INTERRUPTED = '[Tool call was interrupted and did not return a result.]';
const UNKNOWN_TOOL = 'unknown_tool';
const MAX_PARSE_ERROR_CHARS = 500;

/**
 * Makes the history valid for strict providers: every tool call has exactly one result, directly after its message, and
 * there are no other results. Changes the request, not the thread, as a state update would append at the end.
 */
export function danglingToolCall(): AgentMiddleware {
  return {
    name: 'dangling-tool-call',
    wrapModelCall: (request, next) => next({ ...request, messages: repairToolCalls(request.messages) }),
  };
}

/** A tool call of an AI message with the result that was found for it. */
interface Slot {
  /** The id in the message and its result. */
  readonly askedId: string;
  readonly call: ToolCall;
  /** Why the call was never executed; undefined for a valid one. */
  readonly parseError?: string;
  result?: ToolMessage;
}

/**
 * The history with the result of each call directly after its message: results are moved there, missing ones are
 * created, results without a call are dropped, invalid calls become calls without arguments whose result is the error,
 * and empty or repeated ids, invalid names and arguments that are not an object are replaced. A valid history is
 * returned as the same array.
 */
export function repairToolCalls(messages: readonly Message[]): readonly Message[] {
  const slotsByMessage = collectSlots(messages);
  const repaired = messages.flatMap((message, at): readonly Message[] => {
    if (message.type === 'tool') return [];
    const slots = slotsByMessage.get(at);
    if (message.type !== 'ai' || slots === undefined) return [message];
    return [withCalls(message, slots), ...slots.map(answerOf)];
  });
  const unchanged = repaired.length === messages.length && repaired.every((message, at) => message === messages[at]);
  return unchanged ? messages : repaired;
}

/** The calls of each AI message, by its position, with their results. */
function collectSlots(messages: readonly Message[]): ReadonlyMap<number, readonly Slot[]> {
  const byMessage = new Map<number, readonly Slot[]>();
  const open = new Map<string, Slot[]>();
  const usedIds = new Set<string>();
  messages.forEach((message, at) => {
    if (message.type === 'tool') {
      const slot = open.get(message.tool_call_id)?.find((candidate) => candidate.result === undefined);
      if (slot !== undefined) slot.result = message;
    } else if (message.type === 'ai') {
      const slots = slotsOf(message, at, usedIds);
      if (slots.length > 0) byMessage.set(at, slots);
      // A result belongs to the newest message with a call of its id.
      for (const id of new Set(slots.map((slot) => slot.askedId))) {
        open.set(
          id,
          slots.filter((slot) => slot.askedId === id),
        );
      }
    }
  });
  return byMessage;
}

function slotsOf(message: AiMessage, at: number, usedIds: Set<string>): readonly Slot[] {
  const invalid = message.invalid_tool_calls.map((call) => ({
    askedId: call.id,
    call: { name: call.name, args: {}, id: call.id, type: 'tool_call' as const },
    parseError: call.error,
  }));
  const valid = message.tool_calls.map((call) => ({ askedId: call.id, call }));
  return [...valid, ...invalid].map((slot, index): Slot => {
    const id = freeId(slot.askedId, `call_repaired_${at}_${index}`, usedIds);
    return { ...slot, call: normalizeCall(slot.call, id) };
  });
}

/** `id` if it is valid and unused, else `fallback` with a suffix that makes it unused. */
function freeId(id: string, fallback: string, usedIds: Set<string>): string {
  let free = id;
  for (let round = 0; free === '' || usedIds.has(free); round += 1)
    free = round === 0 ? fallback : `${fallback}_${round}`;
  usedIds.add(free);
  return free;
}

function normalizeCall(call: ToolCall, id: string): ToolCall {
  const name = /^[a-zA-Z0-9_-]{1,64}$/.test(call.name) ? call.name : UNKNOWN_TOOL;
  const args = isRecord(call.args) ? call.args : {};
  return id === call.id && name === call.name && args === call.args ? call : { ...call, id, name, args };
}

function withCalls(message: AiMessage, slots: readonly Slot[]): AiMessage {
  const sameCalls = slots.every((slot, index) => slot.call === message.tool_calls[index]);
  if (sameCalls && message.invalid_tool_calls.length === 0) return message;
  return { ...message, tool_calls: slots.map((slot) => slot.call), invalid_tool_calls: [] };
}

function answerOf({ call, parseError, result }: Slot): ToolMessage {
  if (result !== undefined) return result.tool_call_id === call.id ? result : { ...result, tool_call_id: call.id };
  return {
    type: 'tool',
    id: `interrupted:${call.id}`,
    content: parseError === undefined ? INTERRUPTED : parseError.slice(0, MAX_PARSE_ERROR_CHARS),
    name: call.name,
    tool_call_id: call.id,
    status: 'error',
    additional_kwargs: {},
    response_metadata: {},
  };
}
