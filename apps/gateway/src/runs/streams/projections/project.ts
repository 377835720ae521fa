import type { NumberedEvent, RunEvent, StreamMode } from '@caribou/contracts';
import { custom, end, error, metadata } from './lifecycle-frames.js';
import { events } from './events.js';
import type { Frame, FrameKind, Projection, ProjectionContext } from './frame.js';
import { messagesComplete, messagesMetadata, messagesPartial } from './messages.js';
import { messagesTuple } from './messages-tuple.js';
import { type Position, WHOLE } from './position.js';
import { checkpoints, debug, tasks } from './tasks.js';
import { tools } from './tools.js';
import { updates } from './updates.js';
import { values } from './values.js';

const projections: Readonly<Record<FrameKind, Projection>> = {
  metadata,
  values,
  'messages-tuple': messagesTuple,
  'messages-metadata': messagesMetadata,
  'messages-partial': messagesPartial,
  'messages-complete': messagesComplete,
  updates,
  custom,
  events,
  debug,
  tasks,
  checkpoints,
  tools,
  error,
  end,
};

const kindsOf: Readonly<Record<StreamMode, readonly FrameKind[]>> = {
  values: ['values'],
  'messages-tuple': ['messages-tuple'],
  messages: ['messages-metadata', 'messages-partial', 'messages-complete'],
  updates: ['updates'],
  custom: ['custom'],
  events: ['events'],
  debug: ['debug'],
  tasks: ['tasks'],
  checkpoints: ['checkpoints'],
  tools: ['tools'],
};

/**
 * The kinds of frame each event can give, in the order they are sent. Frame ids are made of these places; the last
 * one stands for the whole event.
 */
const placesOf: Readonly<Record<RunEvent['kind'], readonly FrameKind[]>> = {
  'run.start': ['metadata', 'events', 'values'],
  checkpoint: ['messages-complete', 'checkpoints', 'debug', 'values'],
  'task.start': ['debug', 'events', 'tasks'],
  'task.end': ['messages-complete', 'debug', 'tasks', 'events', 'updates'],
  'model.start': ['events'],
  'message.delta': ['messages-metadata', 'messages-partial', 'events', 'messages-tuple'],
  message: ['messages-metadata', 'messages-complete', 'events', 'messages-tuple'],
  'tool.start': ['events', 'tools'],
  'tool.end': ['events', 'tools'],
  'tool.error': ['events', 'tools'],
  custom: ['events', 'custom'],
  error: ['error'],
  end: ['updates', 'values', 'events', 'end'],
};

/** The kinds of frame a stream of these modes shows: those asked for, and always metadata, error and end. */
export function kindsFor(modes: readonly StreamMode[]): ReadonlySet<FrameKind> {
  return new Set<FrameKind>(['metadata', 'error', 'end', ...modes.flatMap((mode) => kindsOf[mode])]);
}

export interface PlacedFrame {
  readonly position: Position;
  readonly frame: Frame;
}

/** The frames of one event for a stream that shows `kinds`, in order, with their places. */
export function project(
  numbered: NumberedEvent,
  kinds: ReadonlySet<FrameKind>,
  context: ProjectionContext,
): PlacedFrame[] {
  const places = placesOf[numbered.event.kind];
  const placed: PlacedFrame[] = [];
  for (const [index, kind] of places.entries()) {
    if (!kinds.has(kind)) continue;
    const place = index === places.length - 1 ? WHOLE : index + 1;
    for (const frame of projections[kind](numbered.event, context))
      placed.push({ position: { seq: numbered.seq, place }, frame });
  }
  return placed;
}
