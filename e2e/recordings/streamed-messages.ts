import { messageIdOf } from './frame-label.js';
import { type Frame, isRecord, messageType } from './frames.js';

/** What the `messages` frames of one message id add up to, with the last whole message of that id in the stream. */
export interface StreamedMessage {
  type: string;
  /** Deltas carrying `usage_metadata`; clients add the numbers up, so more than one is wrong. */
  usageChunks: number;
  /** Text, reasoning and call arguments equal those of the whole message; null when the stream has no whole one. */
  equalsWhole: boolean | null;
}

interface Sum {
  text: string;
  reasoning: string;
  args: Map<number, string>;
  type: string;
  usageChunks: number;
}

/** Adds up the deltas of mode messages-tuple by message id, in order of first sight. */
export function streamedMessages(frames: readonly Frame[]): StreamedMessage[] {
  const sums = new Map<string, Sum>();
  const whole = wholeMessages(frames);
  for (const frame of frames) {
    if (frame.event !== 'messages' || !Array.isArray(frame.data)) continue;
    const id = messageIdOf(frame.data) ?? '';
    const sum = sums.get(id) ?? {
      text: '',
      reasoning: '',
      args: new Map(),
      type: messageType(frame.data[0]) ?? '',
      usageChunks: 0,
    };
    sums.set(id, sum);
    if (isRecord(frame.data[0])) addDelta(sum, frame.data[0]);
  }
  return [...sums].map(([id, sum]) => {
    const message = whole.get(id);
    return {
      type: sum.type,
      usageChunks: sum.usageChunks,
      equalsWhole: message === undefined ? null : equals(sum, message),
    };
  });
}

function addDelta(sum: Sum, delta: Record<string, unknown>): void {
  sum.text += textOf(delta.content);
  sum.reasoning += reasoningOf(delta);
  if (isRecord(delta.usage_metadata)) sum.usageChunks += 1;
  const pieces: unknown[] = Array.isArray(delta.tool_call_chunks) ? delta.tool_call_chunks : [];
  for (const piece of pieces) {
    if (!isRecord(piece) || typeof piece.index !== 'number') continue;
    sum.args.set(piece.index, (sum.args.get(piece.index) ?? '') + textOf(piece.args));
  }
}

function equals(sum: Sum, message: Record<string, unknown>): boolean {
  if (sum.text !== textOf(message.content) || sum.reasoning !== reasoningOf(message)) return false;
  const calls: unknown[] = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  if (message.type === 'tool') return true;
  const args = [...sum.args].sort(([a], [b]) => a - b).map(([, text]) => text);
  if (args.length !== calls.length) return false;
  return calls.every((call, at) => isRecord(call) && canonical(call.args) === canonical(JSON.parse(args[at] || '{}')));
}

/** The last whole form of each message in `values`, `updates` and `messages/complete` frames. */
function wholeMessages(frames: readonly Frame[]): Map<string, Record<string, unknown>> {
  const whole = new Map<string, Record<string, unknown>>();
  const keep = (value: unknown): void => {
    const items: unknown[] = Array.isArray(value) ? value : [];
    for (const item of items) if (isRecord(item) && typeof item.id === 'string') whole.set(item.id, item);
  };
  for (const { event, data } of frames) {
    if (event === 'messages/complete') keep(data);
    if (!isRecord(data)) continue;
    if (event === 'values') keep(data.messages);
    if (event === 'updates') for (const part of Object.values(data)) if (isRecord(part)) keep(part.messages);
  }
  return whole;
}

function reasoningOf(message: Record<string, unknown>): string {
  return isRecord(message.additional_kwargs) ? textOf(message.additional_kwargs.reasoning_content) : '';
}

/** The text of a content that is a string or a list of blocks. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const blocks: unknown[] = Array.isArray(content) ? content : [];
  return blocks.map((block) => (isRecord(block) ? textOf(block.text) : '')).join('');
}

/** JSON with sorted keys on every level. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    isRecord(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}
