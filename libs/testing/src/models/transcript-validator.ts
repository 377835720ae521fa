import type { AiMessage, Message } from '@caribou/contracts';

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * What a strict OpenAI-style provider would refuse in a history, one line per fault; empty when it is legal. Each call
 * is answered once, by the tool messages directly behind the message that asked, and by nothing else.
 */
export function transcriptFaults(messages: readonly Message[]): readonly string[] {
  const faults: string[] = [];
  let open = new Set<string>();
  const closeOpen = (at: number): void => {
    for (const id of open) faults.push(`messages[${at}]: call '${id}' before it has no answer`);
  };
  messages.forEach((message, at) => {
    if (message.type === 'tool') {
      if (!open.delete(message.tool_call_id))
        faults.push(`messages[${at}]: nothing asked for '${message.tool_call_id}'`);
      return;
    }
    closeOpen(at);
    open = message.type === 'ai' ? callsOf(message, at, faults) : new Set();
  });
  closeOpen(messages.length);
  return faults;
}

function callsOf(message: AiMessage, at: number, faults: string[]): Set<string> {
  const ids = new Set<string>();
  if (message.invalid_tool_calls.length > 0) faults.push(`messages[${at}]: invalid tool calls`);
  for (const { id, name, args } of message.tool_calls) {
    if (id === '' || id.length > 40) faults.push(`messages[${at}]: call id '${id}'`);
    if (ids.has(id)) faults.push(`messages[${at}]: call id '${id}' twice`);
    if (!NAME.test(name)) faults.push(`messages[${at}]: function name '${name}'`);
    if (Array.isArray(args)) faults.push(`messages[${at}]: arguments of '${id}' are no object`);
    ids.add(id);
  }
  return ids;
}
