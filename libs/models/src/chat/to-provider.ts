import {
  type AiMessage,
  type Content,
  type HumanMessage,
  isRecord,
  type Message,
  textOf,
  type ToolMessage,
  omitUndefined,
} from '@caribou/contracts';
import { textIn } from '../http/narrow.js';

/** A message in the format of the chat completions endpoint. */
export type ProviderMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string | readonly ProviderBlock[]; readonly name?: string }
  | {
      readonly role: 'assistant';
      readonly content: string | null;
      readonly tool_calls?: readonly ProviderToolCall[];
      readonly reasoning_content?: string;
    }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

type ProviderBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string; readonly detail?: string } };

interface ProviderToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

/**
 * Converts a conversation for the endpoint: one system message first (many servers refuse later ones), text and images of
 * users, calls and results of tools. Internal `additional_kwargs` are never sent, and the reasoning of earlier answers
 * only to models that require it.
 */
export function toProvider(
  system: string,
  messages: readonly Message[],
  options: { readonly sendReasoning: boolean },
): ProviderMessage[] {
  const systems = [system, ...messages.filter(({ type }) => type === 'system').map(({ content }) => textOf(content))];
  const first = systems.filter((text) => text !== '').join('\n\n');
  return [
    ...(first === '' ? [] : [{ role: 'system' as const, content: first }]),
    ...messages.flatMap((message) => toOne(message, options)),
  ];
}

function toOne(message: Message, options: { readonly sendReasoning: boolean }): ProviderMessage[] {
  switch (message.type) {
    case 'system':
      return [];
    case 'human':
      return [fromHuman(message)];
    case 'ai':
      return [fromAi(message, options.sendReasoning)];
    case 'tool':
      return [fromTool(message)];
  }
}

/** The name marks reminders of middlewares for the model; OpenAI refuses other characters in names. */
const fromHuman = ({ content, name }: HumanMessage): ProviderMessage => ({
  role: 'user',
  content: blocksOf(content),
  ...(typeof name === 'string' && /^[\w-]{1,64}$/.test(name) ? { name } : {}),
});

const fromTool = ({ tool_call_id, content }: ToolMessage): ProviderMessage => ({
  role: 'tool',
  tool_call_id,
  content: textOf(content),
});

function fromAi(message: AiMessage, sendReasoning: boolean): ProviderMessage {
  const calls = [
    ...message.tool_calls.map(({ id, name, args }) => toolCall(id, name, JSON.stringify(args))),
    // Invalid arguments are replaced by {}: servers whose templates parse them would refuse every request of the thread.
    ...message.invalid_tool_calls.map(({ id, name }) => toolCall(id, name, '{}')),
  ];
  const text = textOf(message.content);
  const reasoning = sendReasoning ? textIn(message.additional_kwargs['reasoning_content']) : undefined;
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...omitUndefined({ reasoning_content: reasoning }),
  };
}

const toolCall = (id: string, name: string, json: string): ProviderToolCall => ({
  id,
  type: 'function',
  function: { name, arguments: json },
});

/** Converts content to a string, or to blocks when it has images; unknown blocks are dropped. */
function blocksOf(content: Content): string | ProviderBlock[] {
  if (typeof content === 'string') return content;
  const blocks = content.flatMap((block): ProviderBlock[] => {
    if (typeof block === 'string') return [{ type: 'text', text: block }];
    if (block.type === 'image_url') return imageBlock(block['image_url']);
    const text = textIn(block['text']);
    return block.type === 'text' && text !== undefined ? [{ type: 'text', text }] : [];
  });
  return blocks.some(({ type }) => type === 'image_url') ? blocks : textOf(content);
}

function imageBlock(image: unknown): ProviderBlock[] {
  if (typeof image === 'string') return [{ type: 'image_url', image_url: { url: image } }];
  if (!isRecord(image) || typeof image['url'] !== 'string') return [];
  const detail = textIn(image['detail']);
  return [{ type: 'image_url', image_url: { url: image['url'], ...omitUndefined({ detail }) } }];
}
