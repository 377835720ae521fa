import { type AiMessage, isRecord, type ProviderExtras, textOf } from '@caribou/contracts';
import type { AnswerOrigin } from '../http/endpoint.js';
import type { AssistantBlock, OpaqueBlock, ToolUseBlock } from './request-types.js';
import { textBlocks } from './user-blocks.js';

type SentBlock = AssistantBlock | OpaqueBlock;

export interface AssistantOptions {
  /** Extras of other origins are not sent. */
  readonly origin: AnswerOrigin;
  readonly sendThinking: boolean;
}

export interface AssistantBlocks {
  readonly blocks: SentBlock[];
  /** Ids of the calls in the request, by the id in the message. */
  readonly callIds: ReadonlyMap<string, string>;
}

/**
 * Converts an answer. One of the same provider and model is sent with its blocks as they came and in their order, thoughts without
 * text included: a thinking block is valid only unchanged, behind an unchanged prefix (page "Preserved thinking",
 * platform.claude.com, November 2026). Another one, or one that was edited since, is sent as its text and its calls.
 *
 * @returns no blocks when there is nothing but thoughts, because the endpoint refuses such a turn
 */
export function toAssistantBlocks(message: AiMessage, options: AssistantOptions): AssistantBlocks {
  const extras = ownExtras(message, options.origin);
  const calls = toolUses(message, extras);
  const blocks = replay(message, extras?.parts ?? [], calls) ?? [
    ...textBlocks(textOf(message.content)),
    ...calls.values(),
  ];
  const sent = options.sendThinking ? blocks : blocks.filter((block) => !isThinking(block));
  const callIds = new Map([...calls].map(([ourId, { id }]) => [ourId, id]));
  return { blocks: sent.every(isThinking) ? [] : sent, callIds };
}

export const isThinking = ({ type }: SentBlock): boolean => type === 'thinking' || type === 'redacted_thinking';

function ownExtras({ provider_extras: extras }: AiMessage, origin: AnswerOrigin): ProviderExtras | undefined {
  const { provider, model, dialect } = origin;
  return extras?.provider === provider && extras.model === model && extras.dialect === dialect ? extras : undefined;
}

/** The calls by their id in the message. Arguments that could not be parsed are sent as the empty object. */
function toolUses(message: AiMessage, extras: ProviderExtras | undefined): Map<string, ToolUseBlock> {
  const { tool_calls: valid, invalid_tool_calls: invalid } = message;
  const calls = [...valid, ...invalid.map(({ id, name }) => ({ id, name, args: {} }))];
  return new Map(
    calls.map(({ id, name, args }) => [
      id,
      { type: 'tool_use', id: wireIdOf(id, extras), name: toolNameOf(name), input: args },
    ]),
  );
}

/** The provider's id is part of the prefix of later thoughts; ids of providers that repeat theirs are not stored. */
function wireIdOf(id: string, extras: ProviderExtras | undefined): string {
  const call = extras?.calls?.[id];
  if (isRecord(call) && typeof call['id'] === 'string') return call['id'];
  return /^[a-zA-Z0-9_-]+$/.test(id) ? id : `call_${Buffer.from(id).toString('base64url')}`;
}

const toolNameOf = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 128) || 'unknown';

/** The blocks of an answer from its parts; undefined when there are none, or they are not those of its text. */
function replay(
  message: AiMessage,
  parts: readonly unknown[],
  calls: ReadonlyMap<string, ToolUseBlock>,
): SentBlock[] | undefined {
  if (parts.length === 0) return undefined;
  const text = textOf(message.content);
  const left = new Map(calls);
  let at = 0;
  const blocks = parts.flatMap((part): SentBlock[] => {
    if (!isRecord(part)) return [];
    if (typeof part['text'] === 'number' && part['type'] === undefined) {
      at += part['text'];
      return textBlocks(text.slice(at - part['text'], at));
    }
    if (typeof part['call'] !== 'string' || part['type'] !== undefined) return blockOf(part);
    const block = left.get(part['call']);
    left.delete(part['call']);
    return block === undefined ? [] : [block];
  });
  return at === text.length ? [...blocks, ...left.values()] : undefined;
}

/** Thoughts without their signature would be refused. */
function blockOf(part: Readonly<Record<string, unknown>>): SentBlock[] {
  const { type, thinking, signature, data } = part;
  if (type === 'thinking') {
    const isWhole = typeof thinking === 'string' && typeof signature === 'string' && signature !== '';
    return isWhole ? [{ type, thinking, signature }] : [];
  }
  if (type === 'redacted_thinking') return typeof data === 'string' ? [{ type, data }] : [];
  return typeof type === 'string' ? [{ type: 'opaque', block: part }] : [];
}
