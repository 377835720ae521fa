import type { ChatMessage, ChatRequest } from '../../demo-model/request-check.js';

export interface BodyMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly name?: string | null | undefined;
  readonly tool_calls?: readonly BodyCall[] | null | undefined;
  readonly tool_call_id?: string | null | undefined;
}

export interface BodyCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** The part of a checked body of chat completions that all vendors share. */
export interface ChatBody {
  readonly model: string;
  readonly messages: readonly BodyMessage[];
  readonly stream?: boolean | null | undefined;
  readonly tools?: readonly { readonly function: { readonly name: string } }[] | null | undefined;
}

/** The conversation in the form from which the scripted reply is chosen: contents are the texts, joined by line breaks. */
export function toChat(body: ChatBody): ChatRequest {
  const tools = body.tools ?? [];
  return {
    model: body.model,
    messages: body.messages.map(toMessage),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(({ function: { name } }) => ({ type: 'function', function: { name } })) }),
  };
}

function toMessage(message: BodyMessage): ChatMessage {
  const content = textOfContent(message.content);
  if (message.role === 'tool') return { role: 'tool', content, tool_call_id: message.tool_call_id ?? '' };
  if (message.role === 'assistant') {
    const calls = (message.tool_calls ?? []).map(({ id, function: made }) => ({
      id,
      type: 'function' as const,
      function: made,
    }));
    return { role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
  }
  const role = message.role === 'user' ? 'user' : 'system';
  return { role, content, ...(message.name ? { name: message.name } : {}) };
}

/** The text of a content that is a string, a list of parts, or nothing. */
export function textOfContent(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.flatMap((part: unknown) => (isTextPart(part) ? [part.text] : [])).join('\n');
}

function isTextPart(part: unknown): part is { type: 'text'; text: string } {
  return typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string';
}

/** The messages of the turn under way: those after the last one of a user. */
export function currentTurn<Message extends BodyMessage>(
  messages: readonly Message[],
): { at: number; message: Message }[] {
  const opener = messages.findLastIndex(({ role }) => role === 'user');
  return messages.map((message, at) => ({ at, message })).slice(opener + 1);
}

/** The turns: the messages between two of a user, each with its index among all. */
export function turnsOf<Message extends BodyMessage>(
  messages: readonly Message[],
): { at: number; message: Message }[][] {
  const turns: { at: number; message: Message }[][] = [[]];
  for (const [at, message] of messages.entries()) {
    if (message.role === 'user') turns.push([]);
    else turns.at(-1)?.push({ at, message });
  }
  return turns;
}

export function hasCalls(message: BodyMessage): boolean {
  return message.role === 'assistant' && (message.tool_calls ?? []).length > 0;
}

/** Whether a text is JSON of an object. */
export function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch (cause) {
    if (cause instanceof SyntaxError) return false;
    throw cause;
  }
}
