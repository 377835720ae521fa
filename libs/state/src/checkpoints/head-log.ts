import { BugError, CHANNEL_NAMES, type ChannelName, type Message, type ThreadState } from '@caribou/contracts';
import type { ThreadHead } from '../ports/run-store.js';

/** Consecutive log entries; both ends are included. */
export type EntryRange = readonly [from: number, to: number];

/** A checkpoint with more ranges is rewritten as one range, so that the cost of a checkpoint is bounded. */
export const MAX_RANGES = 64;

/** The positions of a head's messages and channel values in the thread's log, and the numbers of the next ones. */
export class HeadLog {
  constructor(
    /** The entry of each message, in the order of the state. */
    readonly entries: readonly number[],
    readonly channels: Readonly<Partial<Record<ChannelName, number>>>,
    readonly counters: LogCounters,
    /** Bytes of the JSON of each message and channel value, by the field of the log that holds it. */
    readonly sizes: ReadonlyMap<string, number>,
  ) {}

  /** How many log fields this head does not refer to. */
  get unshown(): number {
    return this.counters.fields - this.entries.length - Object.keys(this.channels).length;
  }
}

export interface LogCounters {
  readonly nextEntry: number;
  readonly nextValue: number;
  /** How many fields the log has. */
  readonly fields: number;
  /** How many of them no head referred to after the last sweep. */
  readonly swept: number;
}

/** What a commit adds to the log, and the positions of everything afterwards. */
export interface LogPlan {
  readonly messages: readonly Message[];
  readonly values: readonly ChannelName[];
  readonly entries: readonly number[];
  readonly channels: Readonly<Partial<Record<ChannelName, number>>>;
  readonly ranges: readonly EntryRange[];
}

/** @throws {BugError} when the head was not returned by this store. */
export function logOf(head: ThreadHead): HeadLog {
  if (head.log instanceof HeadLog) return head.log;
  throw new BugError('the thread head was not returned by claim, loadCheckpoint or commit');
}

/**
 * Plans the entries for what `state` has and `from` has not, comparing messages by identity and channel values by their
 * JSON; numbers begin at `counters`.
 */
export function planLog(from: ThreadHead, state: ThreadState, counters: LogCounters): LogPlan {
  const shown = logOf(from);
  const known = new Map<Message, number>();
  from.state.messages.forEach((message, index) => {
    const entry = shown.entries[index];
    if (entry !== undefined) known.set(message, entry);
  });
  const planned = planMessages(state.messages, known, counters.nextEntry);
  const ranges = rangesOf(planned.entries);
  const { channels, values } = planChannels(from.state, state, { shown, next: counters.nextValue });
  if (ranges.length <= MAX_RANGES) return { ...planned, ranges, channels, values };
  const compacted = planMessages(state.messages, new Map(), counters.nextEntry);
  return { ...compacted, ranges: rangesOf(compacted.entries), channels, values };
}

function planMessages(messages: readonly Message[], known: ReadonlyMap<Message, number>, first: number) {
  const added: Message[] = [];
  const entries = messages.map((message) => {
    const entry = known.get(message);
    if (entry !== undefined) return entry;
    added.push(message);
    return first + added.length - 1;
  });
  return { messages: added, entries };
}

function planChannels(
  before: ThreadState,
  after: ThreadState,
  log: { readonly shown: HeadLog; readonly next: number },
) {
  const channels: Partial<Record<ChannelName, number>> = {};
  const values: ChannelName[] = [];
  for (const name of CHANNEL_NAMES) {
    if (after[name] === undefined) continue;
    const entry = log.shown.channels[name];
    if (entry !== undefined && isSame(before[name], after[name])) {
      channels[name] = entry;
    } else {
      channels[name] = log.next + values.length;
      values.push(name);
    }
  }
  return { channels, values };
}

const isSame = (first: unknown, second: unknown): boolean =>
  first === second || JSON.stringify(first) === JSON.stringify(second);

/** The fields of the log that hold a state. */
export const fieldsOf = ({ entries, channels }: Pick<LogPlan, 'entries' | 'channels'>): string[] => [
  ...entries.map(String),
  ...Object.values(channels).map((value) => `c${value}`),
];

/** Compresses ordered entries into ranges. */
export function rangesOf(entries: readonly number[]): EntryRange[] {
  const ranges: [number, number][] = [];
  for (const entry of entries) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] + 1 === entry) last[1] = entry;
    else ranges.push([entry, entry]);
  }
  return ranges;
}

/** Expands ranges into their entries, in order. */
export const entriesOf = (ranges: readonly EntryRange[]): number[] =>
  ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
