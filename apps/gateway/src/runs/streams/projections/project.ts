import type { NumberedEvent, RunEvent, StreamMode } from '@caribou/contracts';
import { memoizeRecentLists } from '@caribou/core';
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
 * The kinds of frame that each event can have, in the order they are sent. Ids of frames contain the index in these lists;
 * the last kind has the id of the whole event.
 */
const kindsOfEvent: Readonly<Record<RunEvent['kind'], readonly FrameKind[]>> = {
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

/** The same, each kind with its projection and the index in the ids of its frames. */
const stepsOfEvent: ReadonlyMap<RunEvent['kind'], readonly Step[]> = new Map(
  (Object.entries(kindsOfEvent) as [RunEvent['kind'], readonly FrameKind[]][]).map(([event, kinds]) => [
    event,
    kinds.map((kind, at) => ({
      kind,
      projection: projections[kind],
      index: at === kinds.length - 1 ? WHOLE : at + 1,
    })),
  ]),
);

interface Step {
  readonly kind: FrameKind;
  readonly projection: Projection;
  readonly index: number;
}

/** The kinds of frame in a stream of these modes, which always include metadata, error and end. */
export const kindsFor = memoizeRecentLists(
  (modes: readonly StreamMode[]): ReadonlySet<FrameKind> =>
    new Set<FrameKind>(['metadata', 'error', 'end', ...modes.flatMap((mode) => kindsOf[mode])]),
);

export interface PositionedFrame {
  readonly position: Position;
  readonly frame: Frame;
}

/** The frames of one event for a stream that shows `kinds`, in order, with their positions. */
export function project(
  numbered: NumberedEvent,
  kinds: ReadonlySet<FrameKind>,
  context: ProjectionContext,
): PositionedFrame[] {
  const frames: PositionedFrame[] = [];
  for (const { kind, projection, index } of stepsOfEvent.get(numbered.event.kind) ?? []) {
    if (!kinds.has(kind)) continue;
    for (const frame of projection(numbered.event, context))
      frames.push({ position: { seq: numbered.seq, index }, frame });
  }
  return frames;
}
