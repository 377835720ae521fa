import { type AiMessage, isRecord, omitUndefined, type ProviderExtras, textOf } from '@caribou/contracts';
import type { ModelEndpoint } from '@caribou/core';
import { textIn } from '../http/narrow.js';
import type { Dialect } from './dialects/dialect.js';
import type { ToCallId } from './tool-call-ids.js';

type Json = Readonly<Record<string, unknown>>;

/** An answer in the format of the endpoint, with what the provider requires back. */
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content: string | null | readonly Json[];
  readonly tool_calls?: readonly AssistantCall[];
  readonly [field: string]: unknown;
}

interface AssistantCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
  readonly [field: string]: unknown;
}

/** How the answers of a conversation are converted for one model. */
export interface AnswerConversion {
  readonly dialect: Dialect;
  readonly endpoint: ModelEndpoint;
  /** Overrides whether the dialect sends the text of earlier reasoning. */
  readonly sendReasoning: boolean | undefined;
  /** Reasoning is a `<think>` tag of the content, as this model sent it. */
  readonly inlineReasoning: boolean;
  readonly toCallId: ToCallId;
}

/** Fields of extras that this protocol has; those of another protocol at the same endpoint are left out. */
const messageExtras = ['extra_content', 'reasoning_details'] as const;
const callExtras = ['extra_content'] as const;

/**
 * Converts an answer; undefined when it has neither text nor calls and the provider refuses such messages. Its `additional_kwargs` are
 * never sent, except the reasoning where the provider reads it.
 */
export function toAssistant(message: AiMessage, conversion: AnswerConversion): AssistantMessage | undefined {
  const extras = ownExtras(message.provider_extras, conversion);
  const calls = callsOf(message, extras, conversion);
  const content = contentOf(message, extras, conversion);
  const isEmpty = content === '' || content.length === 0;
  if (isEmpty && calls.length === 0 && !conversion.dialect.emptyAnswers) return undefined;
  return {
    role: 'assistant',
    content: isEmpty && calls.length > 0 ? null : content,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...reasoningOf(message, calls.length > 0, conversion),
    ...pick(extras?.message, messageExtras),
  };
}

/** The extras, if this model or its provider wrote them, whichever they are bound to. */
function ownExtras(
  extras: ProviderExtras | undefined,
  { dialect, endpoint }: AnswerConversion,
): ProviderExtras | undefined {
  if (extras === undefined || extras.provider !== endpoint.provider) return undefined;
  return dialect.extrasOf === 'provider' || extras.model === endpoint.model ? extras : undefined;
}

function callsOf(
  message: AiMessage,
  extras: ProviderExtras | undefined,
  { dialect, endpoint, toCallId }: AnswerConversion,
): AssistantCall[] {
  const calls = [
    ...message.tool_calls.map(({ id, name, args }) => ({ id, name, json: JSON.stringify(args) })),
    // Invalid arguments are replaced by {}: servers whose templates parse them would refuse every request of the thread.
    ...message.invalid_tool_calls.map(({ id, name }) => ({ id, name, json: '{}' })),
  ];
  return calls.map(({ id, name, json }, index) => {
    const own = pick(extras?.calls?.[id], callExtras);
    const needsEscape = index === 0 && Object.keys(own).length === 0;
    return {
      id: toCallId(id),
      type: 'function',
      function: { name, arguments: json },
      ...(needsEscape ? dialect.foreignCall?.(endpoint.model) : own),
    };
  });
}

function contentOf(
  message: AiMessage,
  extras: ProviderExtras | undefined,
  { dialect, inlineReasoning }: AnswerConversion,
): string | readonly Json[] {
  const text = textOf(message.content);
  if (dialect.thinkingChunks && extras?.parts !== undefined) return toChunks(text, extras.parts);
  const reasoning = inlineReasoning ? textIn(message.additional_kwargs['reasoning_content']) : undefined;
  return reasoning === undefined ? text : `<think>\n${reasoning.trim()}\n</think>\n\n${text}`;
}

/** The list content that `ThinkingChunks` took apart. */
function toChunks(text: string, parts: readonly unknown[]): Json[] {
  const chunks: Json[] = [];
  let at = 0;
  for (const part of parts.filter(isRecord)) {
    if (typeof part['text'] === 'number') chunks.push({ type: 'text', text: text.slice(at, (at += part['text'])) });
    else if (part['type'] === 'thinking') chunks.push(part);
  }
  return at < text.length ? [...chunks, { type: 'text', text: text.slice(at) }] : chunks;
}

function reasoningOf(
  { additional_kwargs: kwargs }: AiMessage,
  hasCalls: boolean,
  { dialect, sendReasoning = dialect.sendsReasoning }: AnswerConversion,
): Json {
  if (!sendReasoning) return {};
  const isRequired = hasCalls || dialect.requiresReasoningOf === 'all';
  const missing = isRequired ? dialect.missingReasoning : undefined;
  return omitUndefined({ [dialect.reasoningField]: textIn(kwargs['reasoning_content']) ?? missing });
}

function pick(extras: unknown, fields: readonly string[]): Json {
  return isRecord(extras) ? Object.fromEntries(Object.entries(extras).filter(([key]) => fields.includes(key))) : {};
}
