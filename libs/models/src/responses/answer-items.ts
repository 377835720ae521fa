import { type AiMessage, CallPart, isRecord, type ProviderExtras, textOf } from '@caribou/contracts';
import type {
  ResponseFunctionToolCall,
  ResponseInputItem,
  ResponseOutputMessage,
  ResponseReasoningItem,
} from 'openai/resources/responses/responses';
import type { AnswerOrigin } from '../http/endpoint.js';
import { textIn } from '../http/narrow.js';
import type { MessagePart } from './answer-text.js';
import { callAsItWas, type StoredCall } from './call-extras.js';
import type { CallIds } from './call-ids.js';

type Json = Readonly<Record<string, unknown>>;

/** An item of an answer, with and without what only its provider and model understand. */
type StoredItem =
  | { readonly kind: 'reasoning'; readonly part: Json }
  | { readonly kind: 'message'; readonly part: MessagePart; readonly texts: readonly string[] }
  | { readonly kind: 'call'; readonly call: StoredCall }
  | { readonly kind: 'other'; readonly part: Json };

/**
 * The items of an answer. Those of the same provider and model are its output as it was, with ids, phases and
 * encrypted reasoning, as the Reasoning guide of OpenAI requires (November 2026): a reasoning item is refused without the item
 * that followed it, and an item with its id is refused without its reasoning. An answer that is no longer as it was is text
 * and calls without ids.
 */
export function toAnswerItems(message: AiMessage, origin: AnswerOrigin, callIds: CallIds): ResponseInputItem[] {
  const extras = ownExtras(message, origin);
  const stored = extras === undefined ? undefined : storedItems(message, extras);
  if (stored === undefined) return plainItems(message, callIds);
  const withFollower = stored.slice(0, stored.findLastIndex(({ kind }) => kind !== 'reasoning') + 1);
  const canSendIds = withFollower.every((item) => item.kind !== 'reasoning' || isReadable(item.part));
  return withFollower.flatMap((item) => (canSendIds ? asItWas(item, extras, callIds) : withoutIds(item, callIds)));
}

function ownExtras({ provider_extras: extras }: AiMessage, origin: AnswerOrigin): ProviderExtras | undefined {
  const { provider, model, dialect } = origin;
  return extras?.provider === provider && extras.model === model && extras.dialect === dialect ? extras : undefined;
}

function plainItems(message: AiMessage, callIds: CallIds): ResponseInputItem[] {
  const text = textOf(message.content);
  return [...(text === '' ? [] : [assistant(text)]), ...callsOf(message).map((call) => plainCall(call, callIds))];
}

const assistant = (content: string, phase?: string): ResponseInputItem => ({
  type: 'message',
  role: 'assistant',
  content,
  ...phaseOf(phase),
});

/** Invalid arguments are replaced by {}: servers whose templates parse them would refuse every request of the thread. */
const callsOf = ({ tool_calls: valid, invalid_tool_calls: invalid }: AiMessage): StoredCall[] => [
  ...valid.map(({ id, name, args }) => ({ id, name, arguments: JSON.stringify(args) })),
  ...invalid.map(({ id, name }) => ({ id, name, arguments: '{}' })),
];

const plainCall = ({ id, ...call }: StoredCall, callIds: CallIds): ResponseFunctionToolCall => ({
  type: 'function_call',
  call_id: callIds.add(id),
  ...call,
});

/** The items that the extras describe; undefined when the message does not have exactly their text and calls. */
function storedItems(message: AiMessage, { parts = [], message: whole }: ProviderExtras): StoredItem[] | undefined {
  if (typeof message.content !== 'string' || !isRecord(whole) || whole['parts'] !== parts.length) return undefined;
  const calls = new Map(callsOf(message).map((call) => [call.id, call]));
  const items: StoredItem[] = [];
  let rest = message.content;
  for (const part of parts) {
    const item = toItem(part, calls) ?? withText(items.pop(), part, rest);
    if (item === undefined) return undefined;
    items.push(item);
    if (isText(part)) rest = rest.slice(part.text);
  }
  return rest === '' && calls.size === 0 ? items : undefined;
}

/** The message item with one more content, at the beginning of `rest`. */
function withText(item: StoredItem | undefined, part: unknown, rest: string): StoredItem | undefined {
  if (item?.kind !== 'message' || !isText(part) || part.text > rest.length) return undefined;
  const lead = item.texts.length === 0 ? item.part.lead : 0;
  return { ...item, texts: [...item.texts, rest.slice(lead, part.text)] };
}

/** The item that begins with this part; removes its call from `calls`. */
function toItem(part: unknown, calls: Map<string, StoredCall>): StoredItem | undefined {
  if (!isRecord(part)) return undefined;
  if (isMessage(part)) return { kind: 'message', part, texts: [] };
  if (part['type'] === 'reasoning') return { kind: 'reasoning', part };
  if (typeof part['type'] === 'string') return { kind: 'other', part };
  const { data } = CallPart.safeParse(part);
  const call = data === undefined ? undefined : calls.get(data.call);
  if (call === undefined) return undefined;
  calls.delete(call.id);
  return { kind: 'call', call };
}

const isText = (part: unknown): part is { readonly text: number } => isRecord(part) && typeof part['text'] === 'number';

const isMessage = (part: Json): part is Json & MessagePart =>
  part['type'] === 'message' && Array.isArray(part['contents']) && typeof part['lead'] === 'number';

/** Whether the provider can read the reasoning without having stored it; its id alone is refused with `store: false`. */
const isReadable = ({ encrypted_content: encrypted, content }: Json): boolean =>
  textIn(encrypted) !== undefined || (Array.isArray(content) && content.length > 0);

function asItWas(item: StoredItem, extras: ProviderExtras | undefined, callIds: CallIds): ResponseInputItem[] {
  switch (item.kind) {
    case 'message':
      return [outputMessage(item.part, item.texts)];
    case 'call':
      return [callAsItWas(item.call, extras?.calls?.[item.call.id], callIds)];
    case 'reasoning':
    case 'other':
      return [item.part as unknown as ResponseInputItem];
  }
}

function withoutIds(item: StoredItem, callIds: CallIds): ResponseInputItem[] {
  if (item.kind === 'call') return [plainCall(item.call, callIds)];
  return item.kind === 'message' ? [assistant(item.texts.join(''), item.part.phase)] : [];
}

function outputMessage({ id, phase, contents }: MessagePart, texts: readonly string[]): ResponseInputItem {
  if (id === undefined) return assistant(texts.join(''), phase);
  const content = texts.map((text, index): ResponseOutputMessage['content'][number] =>
    contents[index] === 'refusal' ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] },
  );
  return { type: 'message', id, role: 'assistant', status: 'completed', content, ...phaseOf(phase) };
}

/** Phases other than those of the reference are not sent. */
const phaseOf = (phase: string | undefined): { phase?: 'commentary' | 'final_answer' } =>
  phase === 'commentary' || phase === 'final_answer' ? { phase } : {};

/**
 * The part of a reasoning item: without its status and empty content, which endpoints return and refuse to get back ("Unknown
 * parameter: 'input[1].status'", litellm issue 13420).
 */
export function toReasoningPart({ id, summary, content, encrypted_content: encrypted }: Json): unknown {
  const part: Partial<ResponseReasoningItem> = {
    type: 'reasoning',
    ...(typeof id === 'string' ? { id } : {}),
    summary: (Array.isArray(summary) ? summary : []) as ResponseReasoningItem.Summary[],
    ...(typeof encrypted === 'string' ? { encrypted_content: encrypted } : {}),
    ...(Array.isArray(content) && content.length > 0 ? { content: content as ResponseReasoningItem.Content[] } : {}),
  };
  return part;
}
