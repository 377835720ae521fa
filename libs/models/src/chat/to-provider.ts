import {
  type Content,
  type HumanMessage,
  isRecord,
  type Message,
  textOf,
  type ToolMessage,
  omitUndefined,
} from '@caribou/contracts';
import { textIn } from '../http/narrow.js';
import { type AnswerConversion, type AssistantMessage, toAssistant } from './assistant-message.js';
import { callIdsFor } from './tool-call-ids.js';

/** A message in the format of the chat completions endpoint. */
export type ProviderMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string | readonly ProviderBlock[]; readonly name?: string }
  | AssistantMessage
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

type ProviderBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string; readonly detail?: string } };

/** Stands between results of tools and a user message, where the provider does not let one follow the other. */
const BRIDGE: AssistantMessage = { role: 'assistant', content: 'OK.' };

/**
 * Converts a conversation for the endpoint: one system message first (many servers refuse later ones), text and images of
 * users, calls and results of tools, under ids and in an order that the dialect allows.
 */
export function toProvider(
  system: string,
  messages: readonly Message[],
  options: Omit<AnswerConversion, 'toCallId'>,
): ProviderMessage[] {
  const conversion = { ...options, toCallId: callIdsFor(messages, options.dialect.callIds) };
  const systems = [system, ...messages.filter(({ type }) => type === 'system').map(({ content }) => textOf(content))];
  const first = systems.filter((text) => text !== '').join('\n\n');
  const converted = messages.flatMap((message) => toOne(message, conversion) ?? []);
  return [
    ...(first === '' ? [] : [{ role: 'system' as const, content: first }]),
    ...(options.dialect.userAfterTool ? converted : converted.flatMap(withBridge)),
  ];
}

function toOne(message: Message, conversion: AnswerConversion): ProviderMessage | undefined {
  switch (message.type) {
    case 'system':
      return undefined;
    case 'human':
      return fromHuman(message, conversion);
    case 'ai':
      return toAssistant(message, conversion);
    case 'tool':
      return fromTool(message, conversion);
  }
}

/** The name marks reminders of middlewares for the model; OpenAI refuses other characters in names. */
const fromHuman = ({ content, name }: HumanMessage, { dialect }: AnswerConversion): ProviderMessage => ({
  role: 'user',
  content: blocksOf(content),
  ...(dialect.userNames && typeof name === 'string' && /^[\w-]{1,64}$/.test(name) ? { name } : {}),
});

const fromTool = ({ tool_call_id, content }: ToolMessage, { toCallId }: AnswerConversion): ProviderMessage => ({
  role: 'tool',
  tool_call_id: toCallId(tool_call_id),
  content: textOf(content),
});

function withBridge(message: ProviderMessage, index: number, all: readonly ProviderMessage[]): ProviderMessage[] {
  return message.role === 'user' && all[index - 1]?.role === 'tool' ? [BRIDGE, message] : [message];
}
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
