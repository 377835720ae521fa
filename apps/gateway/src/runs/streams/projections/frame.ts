import type { RunEvent, RunRecord } from '@caribou/contracts';

/** One frame of an event stream before it gets its id. */
export type Frame =
  /** `data` is one line of JSON. */
  | { readonly event: string; readonly data: string }
  /** The data line is `before`, the values at the checkpoint as JSON, and `after`. */
  | { readonly event: string; readonly checkpointId: string; readonly before: string; readonly after: string };

/** The kinds of frame; each has its own projection and its own fixed place among the frames of one event. */
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
 * What the frames of an event depend on besides the event. All of it follows from the events before, so a client that
 * joins later gets the same frames.
 */
export interface ProjectionState {
  attempt: number;
  /** Newest committed checkpoint, and what comes after it. */
  checkpointId: string | null;
  next: readonly string[];
  /** When the newest checkpoint was committed; debug frames are stamped with it, as events carry no time of their own. */
  timestamp: string;
  model: string;
  /** Tasks since the newest checkpoint, by the id their events carry. */
  readonly tasks: Map<string, KnownTask>;
  /** Messages that are being streamed, summed up so far. */
  readonly partials: Map<string, PartialMessage>;
  /** Metadata of the newest delta as text, and what it was made of: it changes with the model call only. */
  messageMetadata?: { readonly key: string; readonly text: string };
}

export interface KnownTask {
  readonly node: string;
  /** The id clients are told. */
  readonly id: string;
}

/** An AI message as far as it has been streamed. */
export interface PartialMessage {
  readonly content: string;
  readonly reasoning: string;
  readonly toolCallChunks: ReadonlyMap<number, { name: string; args: string; id: string }>;
}

/** The run a stream shows, as far as frames name it. */
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

/** Frames of one kind for one event: pure, in order, none when the kind does not show the event. */
export type Projection = (event: RunEvent, context: ProjectionContext) => readonly Frame[];

/** A frame whose data is plain JSON. */
export const jsonFrame = (event: string, data: unknown): Frame => ({ event, data: JSON.stringify(data) });

export const NO_FRAMES: readonly Frame[] = [];
