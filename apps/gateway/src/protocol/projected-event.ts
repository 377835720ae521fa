import type { ProtocolChannel } from '@caribou/contracts';

/** The data of an event as JSON: one text, or two around the values at a checkpoint, which are inserted when it is sent. */
export type Payload =
  | { readonly data: string }
  | { readonly checkpointId: string; readonly before: string; readonly after: string };

/** An event of the protocol before it has its numbers. */
export interface ProjectedEvent {
  readonly channel: ProtocolChannel | `custom:${string}`;
  readonly method: ProtocolChannel | 'input.requested' | 'input.answered';
  readonly namespace: readonly string[];
  /** The node that produced it. */
  readonly node?: string;
  readonly payload: Payload;
  /** Addition to the id of the event, where the number alone may mean another event after a loss of data. */
  readonly tag?: string;
  /** Whether this is the lifecycle of the run itself, in whose ids clients read the run. */
  readonly isOfRun?: boolean;
  /** Whether it is the newest state in place of events that are gone. */
  readonly isSnapshot?: boolean;
  /** Whether it ends the run. */
  readonly isLast?: boolean;
}

export interface SequencedEvent extends ProjectedEvent {
  readonly seq: number;
  readonly eventId: string;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

const TASK = 'task:';

export const ROOT: readonly string[] = [];

/** The namespace of a subagent, by the tool call that started it. Clients derive the same one from the call. */
export const subagentNamespace = (toolCallId: string): readonly string[] => [`tools:${toolCallId}`];

/** The namespace of who asked, by the path of the interrupt, whose segments are `task:<tool call id>`. */
export const askerNamespace = (path: readonly string[]): readonly string[] =>
  path.flatMap((segment) => (segment.startsWith(TASK) ? subagentNamespace(segment.slice(TASK.length)) : [segment]));

export const json = (value: unknown): Payload => ({ data: JSON.stringify(value) });

/** The text of an event, in parts when it contains the text of a state, which is then not copied. */
export function eventParts(event: SequencedEvent, values: string | null): string | readonly string[] {
  const { method, eventId, seq, namespace, timestamp, node, payload } = event;
  const head = JSON.stringify({ type: 'event', method, event_id: eventId, seq });
  const params = JSON.stringify({ namespace, timestamp, ...(node === undefined ? {} : { node }) });
  const before = `${head.slice(0, -1)},"params":${params.slice(0, -1)},"data":`;
  if ('data' in payload) return `${before}${payload.data}}}`;
  return [before + payload.before, values ?? '{}', `${payload.after}}}`];
}
