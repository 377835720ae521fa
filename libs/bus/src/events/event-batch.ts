import { EventBatch, type NumberedEvent, RunEvent } from '@caribou/contracts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const kinds: ReadonlySet<string> = new Set(RunEvent.options.map((option) => option.shape.kind.value));

/** A batch without events. It says that the log has events up to `seq`, which readers must read there. */
export const encodeMarker = (seq: number): Uint8Array => encoder.encode(JSON.stringify({ first: seq, events: [] }));

/**
 * Splits events into batches to publish, each of at most `maxBytes`; an event that exceeds this alone becomes a marker.
 * A hole in the numbers begins a new batch.
 */
export function encodeBatches(appended: readonly NumberedEvent[], maxBytes: number): Uint8Array[] {
  const batches: Uint8Array[] = [];
  let first = 0;
  let parts: string[] = [];
  let bytes = 0;
  const flush = (): void => {
    if (parts.length > 0) batches.push(encoder.encode(`{"first":${first},"events":[${parts.join(',')}]}`));
    parts = [];
    bytes = 0;
  };
  for (const { seq, event } of appended) {
    const text = JSON.stringify(event);
    const size = Buffer.byteLength(text) + 1;
    const envelope = 48;
    if (seq !== first + parts.length || bytes + size + envelope > maxBytes) flush();
    if (size + envelope > maxBytes) {
      batches.push(encodeMarker(seq));
      continue;
    }
    if (parts.length === 0) first = seq;
    parts.push(text);
    bytes += size;
  }
  flush();
  return batches;
}

/**
 * Parses the events of a message; undefined when the log must be read instead, because it is a marker or cannot be
 * parsed.
 */
export function decodeBatch(data: Uint8Array): readonly NumberedEvent[] | undefined {
  const batch = EventBatch.safeParse(jsonOrUndefined(data));
  if (!batch.success || batch.data.events.length === 0) return undefined;
  const { first, events } = batch.data;
  if (!events.every(isRunEvent)) return undefined;
  return events.map((event, index) => ({ seq: first + index, event }));
}

/** Only the kind is checked: the publisher's types guarantee the rest, and this runs once per token. */
const isRunEvent = (value: unknown): value is RunEvent =>
  typeof value === 'object' &&
  value !== null &&
  'kind' in value &&
  typeof value.kind === 'string' &&
  kinds.has(value.kind);

function jsonOrUndefined(data: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(data));
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}
