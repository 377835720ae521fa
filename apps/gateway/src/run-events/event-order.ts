import type { RunLogEvent } from '@caribou/contracts';

/** What happened at the same time is in this order. */
const ORDER = [
  'start',
  'message',
  'middleware',
  'subagent.start',
  'subagent.step',
  'subagent.end',
  'error',
  'end',
] as const;
export type Source = (typeof ORDER)[number];

/** An event without its number. */
export interface Happened extends Omit<RunLogEvent, 'seq' | 'thread_id' | 'run_id'> {
  readonly source: Source;
}

/** Numbers that each millisecond has, and the first of each source within it. */
const PER_MS = 2_000;
const FIRST_NUMBER: Readonly<Record<Source, number>> = {
  start: 0,
  message: 1,
  middleware: 1_500,
  'subagent.start': 1_600,
  'subagent.step': 1_650,
  'subagent.end': 1_900,
  error: 1_990,
  end: 1_995,
};

/** The millisecond that a number belongs to. */
export const msOfSeq = (seq: number): number => Math.floor(seq / PER_MS);

/**
 * Numbers events by their time, so that a number never changes although none is stored: neither when later events are added nor
 * when those of another source have expired or were not asked for.
 *
 * @param events those of one source in the order in which they were stored, and all of a millisecond or none
 */
export function numbered(events: readonly Happened[], run: Pick<RunLogEvent, 'thread_id' | 'run_id'>): RunLogEvent[] {
  const timed = events.map((event) => ({ event, ms: Date.parse(event.created_at) }));
  const rank = ({ event }: { readonly event: Happened }): number => ORDER.indexOf(event.source);
  timed.sort((one, other) => one.ms - other.ms || rank(one) - rank(other));
  let last = 0;
  return timed.map(({ event: { source, ...event }, ms }, index) => {
    const before = timed[index - 1];
    const continues = before?.ms === ms && before.event.source === source;
    const first = ms * PER_MS + FIRST_NUMBER[source];
    last = continues ? last + 1 : Math.max(first, last + 1);
    return { ...run, seq: last, ...event };
  });
}
