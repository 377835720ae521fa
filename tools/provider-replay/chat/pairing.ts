/** The part of a message of chat completions that says which tool results belong to it. */
export interface PairedMessage {
  readonly role: string;
  readonly tool_calls?: readonly { readonly id: string }[] | null | undefined;
  readonly tool_call_id?: string | null | undefined;
}

/** How tool calls and tool messages do not fit; `at` is the index of the message that the vendor names. */
export type PairingFault =
  | { fault: 'unanswered'; at: number; ids: string[] }
  | { fault: 'orphan'; at: number; id: string }
  | { fault: 'duplicate'; at: number; id: string };

/** Finds the first place where the calls of an assistant message are not answered, once each, by the tool messages directly after it. */
export function pairingFault(messages: readonly PairedMessage[]): PairingFault | undefined {
  let open = new Set<string>();
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id ?? '')) return { fault: 'orphan', at, id: message.tool_call_id ?? '' };
      continue;
    }
    if (open.size > 0) return { fault: 'unanswered', at, ids: [...open] };
    open = new Set();
    for (const { id } of message.tool_calls ?? []) {
      if (open.has(id)) return { fault: 'duplicate', at, id };
      open.add(id);
    }
  }
  return open.size === 0 ? undefined : { fault: 'unanswered', at: messages.length, ids: [...open] };
}
