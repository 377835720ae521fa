import type { ChatMessage, ChatRequest } from '../../../demo-model/request-check.js';
import type { MessagesRequest, RequestBlock, ToolResultBlock } from './shape.js';
import { turnsOf } from './turns.js';

/** The conversation in the form from which the scripted reply is chosen. Pictures, documents and thinking are left out. */
export function toChat(request: MessagesRequest): ChatRequest {
  const system = typeof request.system === 'string' ? request.system : textOf(request.system ?? []);
  return {
    model: request.model,
    messages: [
      ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
      ...turnsOf(request).flatMap(({ role, blocks }) =>
        toMessages(
          role,
          blocks.map(({ block }) => block),
        ),
      ),
    ],
    ...(request.tools === undefined ? {} : { tools: request.tools.map(toTool) }),
    stream: request.stream === true,
  };
}

function toMessages(role: 'user' | 'assistant' | 'system', blocks: readonly RequestBlock[]): ChatMessage[] {
  if (role === 'assistant') return [assistantMessage(blocks)];
  const results = blocks.filter((block) => block.type === 'tool_result');
  const rest = blocks.filter((block) => block.type !== 'tool_result');
  return [
    ...results.map((result) => ({
      role: 'tool' as const,
      tool_call_id: result.tool_use_id,
      content: resultText(result),
    })),
    ...(rest.length === 0 ? [] : [{ role, content: textOf(rest) }]),
  ];
}

function assistantMessage(blocks: readonly RequestBlock[]): ChatMessage {
  const calls = blocks.flatMap((block) =>
    block.type === 'tool_use'
      ? [
          {
            id: block.id,
            type: 'function' as const,
            function: { name: block.name, arguments: JSON.stringify(block.input) },
          },
        ]
      : [],
  );
  return { role: 'assistant', content: textOf(blocks), ...(calls.length === 0 ? {} : { tool_calls: calls }) };
}

function resultText({ content }: ToolResultBlock): string {
  return typeof content === 'string' ? content : textOf(content ?? []);
}

function textOf(blocks: readonly RequestBlock[]): string {
  return blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

function toTool({
  name,
  description,
  input_schema,
}: NonNullable<MessagesRequest['tools']>[number]): NonNullable<ChatRequest['tools']>[number] {
  return {
    type: 'function',
    function: { name, parameters: input_schema, ...(description === undefined ? {} : { description }) },
  };
}
