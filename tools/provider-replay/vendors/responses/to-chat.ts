import type { ChatMessage, ChatRequest } from '../../../demo-model/request-check.js';
import type { InputItem, MessageItem, ResponsesRequest } from './shape.js';

/** The conversation in the form from which the scripted reply is chosen. Pictures, files and reasoning are left out. */
export function toChat(request: ResponsesRequest, items: readonly InputItem[]): ChatRequest {
  return {
    model: request.model,
    messages: [
      ...(request.instructions ? [{ role: 'system' as const, content: request.instructions }] : []),
      ...joinCalls(items.flatMap(toMessage)),
    ],
    ...(request.tools === undefined
      ? {}
      : {
          tools: request.tools.map(({ name, description, parameters }) => ({
            type: 'function' as const,
            function: { name, ...(description ? { description } : {}), ...(parameters ? { parameters } : {}) },
          })),
        }),
    stream: request.stream === true,
  };
}

function toMessage(item: InputItem): ChatMessage[] {
  if (item.type === 'function_call') {
    const called = { name: item.name, arguments: item.arguments };
    return [{ role: 'assistant', tool_calls: [{ id: item.call_id, type: 'function', function: called }] }];
  }
  if (item.type === 'function_call_output') {
    return [{ role: 'tool', tool_call_id: item.call_id, content: textOf(item.output) }];
  }
  return item.type === 'message' ? [{ role: item.role, content: textOf(item.content) }] : [];
}

/** Items of one answer are one message: text and the calls after it. */
function joinCalls(messages: readonly ChatMessage[]): ChatMessage[] {
  const joined: ChatMessage[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last?.role !== 'assistant' || message.role !== 'assistant') {
      joined.push(message);
      continue;
    }
    const calls = [...(last.tool_calls ?? []), ...(message.tool_calls ?? [])];
    const content = [last.content, message.content].filter((text) => typeof text === 'string').join('\n');
    joined[joined.length - 1] = { role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
  }
  return joined;
}

function textOf(content: MessageItem['content']): string {
  if (typeof content === 'string') return content;
  return content.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n');
}
