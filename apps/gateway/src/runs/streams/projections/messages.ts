import { isRecord, type RunEventOf, type ToolCallChunk, omitUndefined } from '@caribou/contracts';
import { jsonFrame, NO_FRAMES, type PartialMessage, type Projection } from './frame.js';
import { modelMetadata } from './message-metadata.js';

/** Mode `messages`: the metadata of a message, once, before its first delta. */
export const messagesMetadata: Projection = (event, context) => {
  if (event.kind !== 'message.delta' || context.state.partials.has(event.message_id)) return NO_FRAMES;
  return [jsonFrame('messages/metadata', { [event.message_id]: { metadata: modelMetadata(event, context) } })];
};

/** Mode `messages`: the message so far, at each delta. */
export const messagesPartial: Projection = (event, { state }) => {
  if (event.kind !== 'message.delta') return NO_FRAMES;
  const sum = sumUp(state.partials.get(event.message_id), event);
  return [jsonFrame('messages/partial', [partialMessage(sum, event)])];
};

/** Mode `messages`: whole messages of the run's input, of hooks, of the model and of tools. */
export const messagesComplete: Projection = (event, { run }) => {
  switch (event.kind) {
    case 'checkpoint':
      return event.metadata.source === 'input' ? toCompleteFrames(run.input?.messages ?? []) : NO_FRAMES;
    case 'task.end':
      return toCompleteFrames(
        (event.update?.messages ?? []).filter(({ type }) => type === 'human' || type === 'system'),
      );
    case 'message':
      return toCompleteFrames([event.message]);
    default:
      return NO_FRAMES;
  }
};

const toCompleteFrames = (messages: readonly unknown[]) =>
  messages.length === 0 ? NO_FRAMES : [jsonFrame('messages/complete', messages)];

/** Adds a delta to a message so far; the given message is not changed. */
export function sumUp(soFar: PartialMessage | undefined, delta: RunEventOf<'message.delta'>): PartialMessage {
  const { content, reasoning, toolCallChunks } = soFar ?? NOTHING_YET;
  return {
    content: content + delta.content,
    reasoning: reasoning + (delta.reasoning ?? ''),
    toolCallChunks: withChunks(toolCallChunks, delta.tool_call_chunks ?? []),
  };
}

const NOTHING_YET: PartialMessage = { content: '', reasoning: '', toolCallChunks: new Map() };

function withChunks(
  soFar: PartialMessage['toolCallChunks'],
  chunks: readonly ToolCallChunk[],
): PartialMessage['toolCallChunks'] {
  const summed = new Map(soFar);
  for (const { index, name, args, id } of chunks) {
    const old = summed.get(index) ?? { name: '', args: '', id: '' };
    summed.set(index, {
      name: old.name + (name ?? ''),
      args: old.args + args,
      id: old.id === '' ? (id ?? '') : old.id,
    });
  }
  return summed;
}

function partialMessage(sum: PartialMessage, delta: RunEventOf<'message.delta'>): Readonly<Record<string, unknown>> {
  const chunks = [...sum.toolCallChunks].map(([index, chunk]) => ({ ...chunk, index, type: 'tool_call_chunk' }));
  return {
    content: sum.content,
    tool_call_chunks: chunks,
    additional_kwargs: sum.reasoning === '' ? {} : { reasoning_content: sum.reasoning },
    id: delta.message_id,
    response_metadata: delta.response_metadata ?? {},
    tool_calls: chunks.flatMap(({ name, args, id }) => {
      const parsed = parseArgs(args);
      return parsed === undefined ? [] : [{ name, args: parsed, id, type: 'tool_call' }];
    }),
    invalid_tool_calls: [],
    ...omitUndefined({ usage_metadata: delta.usage }),
    type: 'ai',
  };
}

/** Parses the arguments of a call; undefined while they are incomplete and only in `tool_call_chunks`. */
function parseArgs(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
