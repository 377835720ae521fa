import {
  type AiMessage,
  type HumanMessage,
  isRecord,
  omitUndefined,
  type RunEventOf,
  type SystemMessage,
} from '@caribou/contracts';
import { json, type ProjectedEvent, ROOT } from '../projected-event.js';
import { contentBlocks } from './content-blocks.js';
import { type MessagesData, StreamedMessage, wholeBlock } from './streamed-message.js';

/** Where a message comes from. */
export interface MessageOrigin {
  readonly runId: string;
  readonly threadId: string;
  readonly namespace?: readonly string[];
  readonly node: string;
  /** Name of the model; '' when it is not known. */
  readonly model: string;
}

/** The answers of a run's own agent that are being streamed, as events of channel `messages`. */
export class MessageStreams {
  private readonly open = new Map<string, StreamedMessage>();

  takeDelta(delta: RunEventOf<'message.delta'>, origin: MessageOrigin): ProjectedEvent[] {
    const known = this.open.get(delta.message_id);
    const message = known ?? new StreamedMessage();
    this.open.set(delta.message_id, message);
    const data = message.take(delta);
    return toEvents(known === undefined ? [startOf(delta.message_id, origin), ...data] : data, origin);
  }

  takeAnswer(answer: AiMessage, origin: MessageOrigin): ProjectedEvent[] {
    const known = this.open.get(answer.id);
    this.open.delete(answer.id);
    const end = [...(known ?? new StreamedMessage()).finish(answer), finishOf(answer)];
    return toEvents(known === undefined ? [startOf(answer.id, origin), ...end] : end, origin);
  }

  /** Ends the streams of answers that were discarded by a takeover or a repeated call. */
  discard(ids: readonly string[], origin: MessageOrigin): ProjectedEvent[] {
    const found = ids.filter((id) => this.open.delete(id));
    return toEvents(
      found.map((id) => ({
        event: 'error',
        id,
        message: 'this part of an answer was discarded: the model is called again',
        code: 'discarded',
      })),
      origin,
    );
  }

  /** Forgets all, after a part of the log is gone. */
  reset(): void {
    this.open.clear();
  }
}

/** A message that was not streamed. */
export function wholeMessage(
  message: AiMessage | HumanMessage | SystemMessage,
  origin: MessageOrigin,
): ProjectedEvent[] {
  if (message.type === 'ai') {
    const data = [startOf(message.id, origin), ...new StreamedMessage().finish(message), finishOf(message)];
    return toEvents(data, origin);
  }
  const start = { event: 'message-start', role: message.type, id: message.id, metadata: metadataOf(origin) };
  const blocks = contentBlocks(message.content).flatMap((block, index) => wholeBlock(index, block));
  return toEvents([start, ...blocks, { event: 'message-finish' }], origin);
}

const metadataOf = ({ model, runId, threadId }: MessageOrigin) => ({
  ...(model === '' ? {} : { model, model_type: 'chat' }),
  run_id: runId,
  thread_id: threadId,
});

const startOf = (id: string, origin: MessageOrigin): MessagesData => ({
  event: 'message-start',
  role: 'ai',
  id,
  metadata: metadataOf(origin),
});

function finishOf({ usage_metadata: usage, response_metadata: metadata }: AiMessage): MessagesData {
  const reason = isRecord(metadata) ? metadata['finish_reason'] : undefined;
  return {
    event: 'message-finish',
    ...omitUndefined({ reason: typeof reason === 'string' ? reason : undefined, usage }),
    metadata,
  };
}

const toEvents = (data: readonly MessagesData[], { namespace = ROOT, node }: MessageOrigin): ProjectedEvent[] =>
  data.map((item) => ({ channel: 'messages', method: 'messages', namespace, node, payload: json(item) }));
