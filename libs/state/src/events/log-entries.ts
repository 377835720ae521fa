import { BugError, type NumberedEvent, type RunEvent, type RunEventOf } from '@caribou/contracts';
import { eventJson } from '@caribou/core';
import { parseStored } from '../redis/stored-json.js';

type Delta = RunEventOf<'message.delta'>;

/** An entry of a run's event log: the JSON of an event, of consecutive deltas that were joined, or of a list of these. */
export interface LogEntry {
  readonly text: string;
  /** How many events it holds; each has a number. */
  readonly events: number;
}

/** The stored form of joined deltas: one delta with the whole text, and the lengths of its pieces in UTF-16 units. */
interface JoinedDelta extends Delta {
  readonly parts?: readonly number[];
}

/** Joined text stays below this number of UTF-16 units, so that an entry stays small beside other events. */
const MAX_JOINED_UNITS = 16_384;
const MAX_PARTS = 256;
/** A list of events stays below this number of UTF-16 units of JSON. */
const MAX_LIST_UNITS = 16_384;
/** An entry with more bytes is not joined with a checkpoint event. */
const MAX_JOINED_BYTES = 16_384;

/**
 * Converts events to entries of the log. Consecutive deltas that continue the same text of a message share an entry, as
 * most of a delta's JSON is names; `eventsOfEntry` takes them apart again, so readers get the events that were written.
 *
 * @param compact whether short events share an entry as a list, which services of earlier versions cannot read
 */
export function logEntries(events: readonly RunEvent[], { compact }: { readonly compact: boolean }): LogEntry[] {
  const entries: LogEntry[] = [];
  for (let from = 0; from < events.length; ) {
    const count = countJoinable(events, from);
    entries.push({ text: textOf(events.slice(from, from + count)), events: count });
    from += count;
  }
  return compact ? listed(entries) : entries;
}

/** Joins consecutive short entries to lists. */
function listed(entries: readonly LogEntry[]): LogEntry[] {
  const lists: LogEntry[] = [];
  let first = 0;
  let units = 0;
  for (const [index, { text }] of entries.entries()) {
    if (index > first && units + text.length > MAX_LIST_UNITS) {
      lists.push(joinList(entries, first, index));
      first = index;
      units = 0;
    }
    units += text.length;
  }
  if (entries.length > first) lists.push(joinList(entries, first, entries.length));
  return lists;
}

/** One entry for those between two positions, whose texts are joined without an array of them, as most of the work is copying. */
function joinList(entries: readonly LogEntry[], from: number, to: number): LogEntry {
  const [only, ...more] = entries.slice(from, to);
  if (only === undefined) throw new BugError('a list of the log has no entry');
  if (more.length === 0) return only;
  let text = `[${only.text}`;
  let events = only.events;
  for (const entry of more) {
    text += `,${entry.text}`;
    events += entry.events;
  }
  return { text: `${text}]`, events };
}

export const entryTexts = (entries: readonly LogEntry[]): string[] => entries.map(({ text }) => text);
/**
 * The texts of entries that a checkpoint event follows, which a script adds to the last one: where it `isOpen`, that is the text of a
 * list without its end.
 */
export function textsBeforeCheckpoint(
  entries: readonly LogEntry[],
  { compact }: { readonly compact: boolean },
): { readonly texts: readonly string[]; readonly isOpen: boolean } {
  const texts = entryTexts(entries);
  const last = texts.at(-1);
  if (!compact || last === undefined || isLarge(last)) return { texts, isOpen: false };
  return { texts: [...texts.slice(0, -1), last.startsWith('[') ? last.slice(0, -1) : `[${last}`], isOpen: true };
}

/** UTF-8 has at most three bytes for a UTF-16 unit, so the bytes of a short text need not be counted. */
const isLarge = (text: string): boolean =>
  text.length * 3 > MAX_JOINED_BYTES && Buffer.byteLength(text) > MAX_JOINED_BYTES;

export const entryCounts = (entries: readonly LogEntry[]): number[] => entries.map(({ events }) => events);

/** The events of an entry; the number of the entry is that of its last event. @throws {BugError} when it is not JSON */
export function eventsOfEntry(seq: number, text: string): NumberedEvent[] {
  const stored = parseStored<StoredEvent | readonly StoredEvent[]>(text);
  const events = isList(stored) ? stored.flatMap(eventsIn) : eventsIn(stored);
  return events.map((event, index) => ({ seq: seq - events.length + 1 + index, event }));
}

type StoredEvent = RunEvent | JoinedDelta;

const isList = (stored: StoredEvent | readonly StoredEvent[]): stored is readonly StoredEvent[] =>
  Array.isArray(stored);

function eventsIn(stored: StoredEvent): readonly RunEvent[] {
  if (stored.kind !== 'message.delta' || !('parts' in stored) || stored.parts === undefined) return [stored];
  const { parts, ...delta } = stored;
  const whole = pieceOf(delta);
  let at = 0;
  return parts.map((length) => {
    const event = withPiece(delta, whole.slice(at, at + length));
    at += length;
    return event;
  });
}

/** How many events from this one on fit into one entry. */
function countJoinable(events: readonly RunEvent[], from: number): number {
  const first = events[from];
  const kind = first?.kind === 'message.delta' ? kindOfPiece(first) : undefined;
  if (first?.kind !== 'message.delta' || kind === undefined) return 1;
  let units = pieceOf(first).length;
  let count = 1;
  for (const next of events.slice(from + 1, from + MAX_PARTS)) {
    if (next.kind !== 'message.delta' || kindOfPiece(next) !== kind || !isSameMessage(first, next)) break;
    units += pieceOf(next).length;
    if (units > MAX_JOINED_UNITS) break;
    count += 1;
  }
  return count;
}

function textOf(events: readonly RunEvent[]): string {
  const [first] = events;
  if (first === undefined) throw new BugError('an entry of the log has no event');
  if (events.length < 2 || first.kind !== 'message.delta') return eventJson(first);
  const pieces = events.map((event) => (event.kind === 'message.delta' ? pieceOf(event) : ''));
  const joined: JoinedDelta = { ...withPiece(first, pieces.join('')), parts: pieces.map(({ length }) => length) };
  return JSON.stringify(joined);
}

const isSameMessage = (one: Delta, other: Delta): boolean =>
  one.message_id === other.message_id && one.node === other.node && one.step === other.step;

/** Which text a delta continues; undefined when it has more than a piece of one text. */
function kindOfPiece(delta: Delta): string | undefined {
  const { content, reasoning, tool_call_chunks: chunks } = delta;
  if (delta.usage !== undefined || delta.response_metadata !== undefined) return undefined;
  if (reasoning === undefined && chunks === undefined) return 'content';
  if (content !== '') return undefined;
  if (chunks === undefined) return 'reasoning';
  const [chunk] = chunks;
  if (reasoning !== undefined || chunk === undefined || chunks.length > 1) return undefined;
  return chunk.name === null && chunk.id === null ? `arguments ${chunk.index}` : undefined;
}

const pieceOf = (delta: Delta): string => delta.tool_call_chunks?.[0]?.args ?? delta.reasoning ?? delta.content;

function withPiece(delta: Delta, piece: string): Delta {
  const [chunk] = delta.tool_call_chunks ?? [];
  if (chunk !== undefined) return { ...delta, tool_call_chunks: [{ ...chunk, args: piece }] };
  return delta.reasoning === undefined ? { ...delta, content: piece } : { ...delta, reasoning: piece };
}
