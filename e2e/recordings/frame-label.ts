import { type Frame, isRecord, messageType } from './frames.js';

/** What a frame is, free of ids and texts, such as `messages(ai)`, `updates(tools)`, `debug(task model_request)`. */
export function frameLabel(frame: Frame): string {
  const name = frame.event ?? 'comment';
  const detail = frameDetail(name, frame.data);
  return detail === '' ? name : `${name}(${detail})`;
}

/** What consecutive frames of one label must share to be folded into one; undefined for frames never folded. */
export function foldKey(frame: Frame): string | undefined {
  const { event = 'comment', data } = frame;
  if (event === 'comment') return 'comment';
  if (event === 'messages' || event === 'messages/partial') return messageIdOf(data);
  if (event === 'events' && isRecord(data) && data.event === 'on_chat_model_stream') return textOf(data.run_id);
  return undefined;
}

/** The id of the first message in an array frame (`messages`, `messages/partial`, `messages/complete`). */
export function messageIdOf(data: unknown): string | undefined {
  const first: unknown = Array.isArray(data) ? data[0] : undefined;
  return isRecord(first) && typeof first.id === 'string' ? first.id : undefined;
}

const details: Record<string, (data: Record<string, unknown>) => string> = {
  updates: (data) => Object.keys(data).sort().join(' '),
  events: (data) => `${textOf(data.event)} ${textOf(data.name)}`,
  debug: (data) => `${textOf(data.type)} ${isRecord(data.payload) ? textOf(data.payload.name) : ''}`,
  tasks: (data) => `${'input' in data ? 'start' : 'end'} ${textOf(data.name)}`,
  checkpoints: (data) => (isRecord(data.metadata) ? textOf(data.metadata.source) : ''),
  tools: (data) => `${textOf(data.event)} ${textOf(data.name)}`,
  custom: (data) => textOf(data.type),
};

function frameDetail(name: string, data: unknown): string {
  if (name.startsWith('messages') && Array.isArray(data)) return messageType(data[0]) ?? '';
  return isRecord(data) ? (details[name]?.(data).trim() ?? '') : '';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
