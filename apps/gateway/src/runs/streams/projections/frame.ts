import type { ClientInterrupt, RunEvent, RunEventOf, RunRecord } from '@caribou/contracts';

/** One frame of an event stream before it gets its id. */
export type Frame =
  /** `data` is one line of JSON. */
  { readonly event: string; readonly data: string } | StateFrame;

/** A frame whose data line is `before`, the values at the checkpoint as JSON, and `after`. */
export interface StateFrame {
  readonly event: string;
  readonly checkpointId: string;
  readonly before: string;
  readonly after: string;
}

/** The kinds of frame; each has its own projection and a fixed index among the frames of one event. */
export type FrameKind =
  | 'metadata'
  | 'values'
  | 'messages-tuple'
  | 'messages-metadata'
  | 'messages-partial'
  | 'messages-complete'
  | 'updates'
  | 'custom'
  | 'events'
  | 'debug'
  | 'tasks'
  | 'checkpoints'
  | 'tools'
  | 'error'
  | 'end';

/**
 * What the frames of an event depend on besides the event. It follows from the earlier events alone, so a client that
 * joins later gets the same frames.
 */
export interface ProjectionState {
  attempt: number;
  /** The newest committed checkpoint. */
  checkpointId: string | null;
  /** The nodes that follow the newest checkpoint. */
  next: readonly string[];
  /** What waits for an answer at the newest checkpoint. */
  interrupts: readonly ClientInterrupt[];
  /** Time of the newest checkpoint. Debug frames have it as their timestamp, since events have no time of their own. */
  timestamp: string;
  model: string;
  /** Tasks since the newest checkpoint, by the id in their events. */
  readonly tasks: Map<string, KnownTask>;
  /** Messages that are being streamed, accumulated so far. */
  readonly partials: Map<string, PartialMessage>;
  /**
   * The metadata of the newest delta as text, with a key of what it depends on; it changes only with the model call.
   */
  messageMetadata?: { readonly key: string; readonly text: string };
}

export interface KnownTask {
  readonly node: string;
  /** The id that clients see. */
  readonly id: string;
}

/** The part of an AI message that has been streamed so far. */
export interface PartialMessage {
  readonly content: string;
  readonly reasoning: string;
  readonly toolCallChunks: ReadonlyMap<number, { name: string; args: string; id: string }>;
}

/** The fields of the streamed run that frames contain. */
export interface StreamRun {
  readonly runId: string;
  readonly threadId: string;
  readonly graphId: string;
  /** The assistant's UUID. */
  readonly assistantId: string;
  readonly input: RunRecord['kwargs']['input'];
}

export interface ProjectionContext {
  readonly run: StreamRun;
  readonly state: ProjectionState;
}

/**
 * A pure function that returns the frames of one kind for one event, in order; none when the kind does not show the
 * event.
 */
export type Projection = (event: RunEvent, context: ProjectionContext) => readonly Frame[];

/**
 * What clients are to answer when a run has ended: its interrupts, an empty list at a breakpoint; undefined for a run that
 * waits for nothing.
 */
export function askedAtEnd(
  { status }: RunEventOf<'end'>,
  { interrupts, next }: Pick<ProjectionState, 'interrupts' | 'next'>,
): readonly ClientInterrupt[] | undefined {
  if (status === 'interrupted' && interrupts.length > 0) return interrupts;
  return status === 'success' && next.length > 0 ? [] : undefined;
}

/** A frame whose data is plain JSON. */
export const jsonFrame = (event: string, data: unknown): Frame => ({ event, data: JSON.stringify(data) });

export const NO_FRAMES: readonly Frame[] = [];
