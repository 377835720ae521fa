import type { AiMessage, Content } from '@caribou/contracts';
import { finishReasonOf, withNote } from './answer.js';

/** Marks an answer after which the model must not be called again; its value is the run's stop reason. */
const STOP_MARK = 'stop_reason';
/** The field in which adapters store the provider's original calls. */
const RAW_CALLS = 'tool_calls';
const RAW_CALL = 'function_call';
/** Finish reasons of an answer that ends with tool calls. */
const CALL_ENDS: ReadonlySet<string | undefined> = new Set(['tool_calls', 'tool_use', 'function_call']);
const CALL_BLOCKS: ReadonlySet<string> = new Set(['tool_use', 'tool_call', 'function_call']);

export const hasCalls = (message: AiMessage): boolean =>
  message.tool_calls.length > 0 || message.invalid_tool_calls.length > 0;

/** Whether the answer intends to call a tool, even if only the provider's own fields show it. */
export const meansToCall = (message: AiMessage): boolean =>
  hasCalls(message) ||
  [RAW_CALLS, RAW_CALL].some((key) => key in message.additional_kwargs) ||
  CALL_ENDS.has(finishReasonOf(message)) ||
  blocksOf(message.content).some(isCallBlock);

/**
 * The message without some of its calls, with the same id: the others stay in order, and the provider's own fields for
 * the removed calls are removed too. When none is left, the finish reason is `stop`.
 */
export function withoutCalls(message: AiMessage, dropped: ReadonlySet<string>): AiMessage {
  const tool_calls = message.tool_calls.filter(({ id }) => !dropped.has(id));
  const invalid_tool_calls = message.invalid_tool_calls.filter(({ id }) => !dropped.has(id));
  const remaining = new Set([...tool_calls, ...invalid_tool_calls].map(({ id }) => id));
  const content = withoutBlocks(message.content, remaining);
  const additional_kwargs = withoutRawCalls(message.additional_kwargs, remaining);
  const { stop_reason: _raw, ...metadata } = message.response_metadata;
  const response_metadata = remaining.size === 0 ? { ...metadata, finish_reason: 'stop' } : message.response_metadata;
  return { ...message, content, tool_calls, invalid_tool_calls, additional_kwargs, response_metadata };
}

/** Every id of the message's calls, valid or not. */
export const callIds = (message: AiMessage): ReadonlySet<string> =>
  new Set([...message.tool_calls, ...message.invalid_tool_calls].map(({ id }) => id));

/** Makes the answer the last of its run: without calls, with a note for the user and the mark with the reason. */
export function toStoppedAnswer(message: AiMessage, note: string, stopReason: string): AiMessage {
  const stripped = withoutCalls(message, callIds(message));
  return markStopped({ ...stripped, content: withNote(stripped.content, note) }, stopReason);
}

export const markStopped = (message: AiMessage, stopReason: string): AiMessage => ({
  ...message,
  additional_kwargs: { ...message.additional_kwargs, [STOP_MARK]: stopReason },
});

/** Whether a guard ended the run with this answer. */
export const isStopped = (message: AiMessage): boolean => typeof message.additional_kwargs[STOP_MARK] === 'string';

/** Ids of calls differ from the provider's, so a raw list without any of the remaining calls is removed completely. */
function withoutRawCalls(fields: AiMessage['additional_kwargs'], kept: ReadonlySet<string>): Record<string, unknown> {
  const { [RAW_CALLS]: rawCalls, [RAW_CALL]: _rawCall, ...others } = fields;
  const left = Array.isArray(rawCalls) ? rawCalls.filter((raw: unknown) => isOneOf(raw, kept)) : [];
  return left.length === 0 ? others : { ...others, [RAW_CALLS]: left };
}

/** Content as adapters may return it: null means none. */
type AnyContent = Content | null | undefined;

const blocksOf = (content: AnyContent): Exclude<Content, string> => (Array.isArray(content) ? content : []);

const withoutBlocks = (content: AnyContent, kept: ReadonlySet<string>): Content =>
  Array.isArray(content) ? content.filter((block) => !isCallBlock(block) || isOneOf(block, kept)) : (content ?? '');

const isCallBlock = (block: Exclude<Content, string>[number]): boolean =>
  typeof block !== 'string' && CALL_BLOCKS.has(block.type);

function isOneOf(raw: unknown, ids: ReadonlySet<string>): boolean {
  const id: unknown = typeof raw === 'object' && raw !== null && 'id' in raw ? raw.id : undefined;
  return typeof id === 'string' && ids.has(id);
}
