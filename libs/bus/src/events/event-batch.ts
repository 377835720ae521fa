import { isRecord, type NumberedEvent, RunEvent } from '@caribou/contracts';
import { eventJson } from '@caribou/core';

const decoder = new TextDecoder();

/** UTF-8 has at most this number of bytes for a UTF-16 unit; texts are counted only where this estimate exceeds the limit. */
const MAX_BYTES_PER_UNIT = 3;
/** What a batch has besides its events. */
const ENVELOPE_BYTES = 80;

const kinds: ReadonlySet<string> = new Set(RunEvent.options.map((option) => option.shape.kind.value));

/** A batch without events. It says that the log has events up to `seq`; readers that lack some read them there. */
export const encodeMarker = (seq: number): Uint8Array => Buffer.from(JSON.stringify({ first: seq, events: [] }));

/** Events to publish. */
export interface Publication {
  readonly events: readonly NumberedEvent[];
  /** Number of the newest event in the log. */
  readonly logged: number;
}

/**
 * Splits events into batches to publish, each of at most `maxBytes`; an event that exceeds this alone becomes a marker.
 * A hole in the numbers begins a new batch. What the log has beyond the events is said by a marker.
 */
export function encodeBatches({ events, logged }: Publication, maxBytes: number): Uint8Array[] {
  const last = events.at(-1);
  if (last === undefined) return [encodeMarker(logged)];
  const ahead = last.seq > logged ? `,"logged":${logged}` : '';
  const batches: Uint8Array[] = [];
  let first = 0;
  let texts = '';
  let count = 0;
  let bytes = 0;
  const flush = (): void => {
    if (count > 0) batches.push(Buffer.from(`{"first":${first}${ahead},"events":[${texts}]}`));
    texts = '';
    count = 0;
    bytes = 0;
  };
  for (const { seq, event } of events) {
    const text = eventJson(event);
    const most = text.length * MAX_BYTES_PER_UNIT + 1;
    const size = bytes + most + ENVELOPE_BYTES <= maxBytes ? most : Buffer.byteLength(text) + 1;
    if (seq !== first + count || bytes + size + ENVELOPE_BYTES > maxBytes) flush();
    if (size + ENVELOPE_BYTES > maxBytes) {
      if (seq <= logged) batches.push(encodeMarker(seq));
      continue;
    }
    if (count === 0) first = seq;
    texts += count === 0 ? text : `,${text}`;
    count += 1;
    bytes += size;
  }
  flush();
  if (last.seq < logged) batches.push(encodeMarker(logged));
  return batches;
}

/**
 * Parses a message that a runner has published on `run.<run_id>.event`: events with the numbers that they have in the log from `first`
 * on. `logged` is the number of the newest event in the log if these are not all in it yet. Without events, the log has events up to
 * `first`. Returns undefined when it cannot be parsed, so that the log must be read.
 */
export function decodeBatch(data: Uint8Array): Publication | undefined {
  const batch = jsonOrUndefined(data);
  if (!isRecord(batch)) return undefined;
  const { first, events, logged } = batch;
  if (!isNumberFrom(1, first) || !Array.isArray(events) || !events.every(isRunEvent)) return undefined;
  if (logged !== undefined && !isNumberFrom(0, logged)) return undefined;
  return {
    events: events.map((event, index) => ({ seq: first + index, event })),
    logged: logged ?? first + Math.max(0, events.length - 1),
  };
}

const isNumberFrom = (least: number, value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= least;

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
