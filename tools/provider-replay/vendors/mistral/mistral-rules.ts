import type { Refusal } from '../../framework/refusal.js';
import { orderRefusal, refuse } from './mistral-errors.js';
import type { MistralChatRequest } from './mistral-request.js';

type Message = MistralChatRequest['messages'][number];
type Role = Message['role'];

/** What may follow a message of a role. */
const FOLLOWERS: Record<Role, readonly Role[]> = {
  system: ['user', 'assistant', 'system'],
  user: ['assistant', 'system', 'user'],
  assistant: ['assistant', 'user', 'tool'],
  tool: ['assistant', 'tool'],
};

const CALL_ID = /^[a-zA-Z0-9]{9}$/;
const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * The rules of Mistral's own request validator (serving mode, version 13).
 *
 * @throws Refusal
 */
export function checkMistralRules({ messages, tools }: MistralChatRequest): void {
  checkEnds(messages);
  for (const [at, message] of messages.entries()) {
    const before = messages[at - 1];
    if (before === undefined || FOLLOWERS[before.role].includes(message.role)) continue;
    throw orderRefusal(`Unexpected role '${message.role}' after role '${before.role}'`);
  }
  checkCalls(messages);
  for (const tool of tools ?? []) checkName(tool.function.name, 'invalid_tool', '3300');
  for (const message of messages) checkMessage(message);
}

function checkEnds(messages: readonly Message[]): void {
  const first = messages[0];
  const last = messages.at(-1);
  if (first === undefined || last === undefined) throw orderRefusal('Conversation must have at least one message');
  if (messages.length === 1 && first.role !== 'user' && first.role !== 'system') {
    throw orderRefusal('Conversation must start with a user message or system message');
  }
  if (messages.length === 1 || last.role !== 'assistant' || last.prefix === true) return;
  throw orderRefusal('Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant');
}

/** The results of an assistant message are those of its calls, once each, before the next assistant message or the end. */
function checkCalls(messages: readonly Message[]): void {
  let expected = new Set<string>();
  let seen = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool') {
      const id = message.tool_call_id ?? '';
      if (seen.has(id)) throw orderRefusal(`Duplicate tool call id ${id} in tool results`);
      if (!expected.has(id)) throw orderRefusal(`Unexpected tool call id ${id} in tool results`);
      seen.add(id);
    } else if (message.role === 'assistant') {
      if (expected.size !== seen.size) throw unequal();
      expected = new Set();
      seen = new Set();
      for (const { id } of message.tool_calls ?? []) {
        if (expected.has(id)) throw orderRefusal(`Duplicate tool call id ${id} in assistant message`);
        expected.add(id);
      }
    }
  }
  if (expected.size !== seen.size) throw unequal();
}

const unequal = (): Refusal => orderRefusal('Not the same number of function calls and responses');

function checkMessage(message: Message): void {
  if (message.role === 'assistant') {
    const calls = message.tool_calls ?? [];
    if (calls.length === 0 && (message.content ?? '').length === 0) {
      const text = 'Assistant message must have either content or tool_calls, but not none.';
      throw refuse('empty assistant message', text, 'invalid_request_assistant_message', '3240');
    }
    for (const call of calls) {
      checkCallId(call.id, 'invalid_function_call', '3280');
      checkName(call.function.name, 'invalid_function_call', '3280');
    }
  }
  if (message.role !== 'tool') return;
  if (!message.tool_call_id)
    throw refuse('tool results', 'Tool call id has to be defined.', 'invalid_request_error', '3210');
  checkCallId(message.tool_call_id, 'invalid_tool_message', '3281');
  if (message.name) checkName(message.name, 'invalid_tool_message', '3281');
}

function checkCallId(id: string, type: string, code: string): void {
  if (CALL_ID.test(id)) return;
  const text = `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`;
  throw refuse('tool call id', text, type, code);
}

function checkName(name: string, type: string, code: string): void {
  if (FUNCTION_NAME.test(name)) return;
  const text = `Function name was ${name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64.`;
  throw refuse('function name', text, type, code);
}
