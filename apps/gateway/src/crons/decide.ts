import type { Timetable } from './timetable.js';

export interface CatchUpRule {
  /** What becomes of due times that were missed: one run for the newest, a run for each, none. */
  readonly catchUp: 'latest' | 'all' | 'none';
  /** How late a due time may start its run. */
  readonly catchUpMs: number;
  /** Least time between two due times that start runs. */
  readonly minIntervalMs: number;
}

export interface DueDecision {
  /** The due time that starts a run; null: none does. */
  readonly startMs: number | null;
  /** When the cron is due next; null: never again. */
  readonly nextMs: number | null;
  /** Due times that start no run because they are too late; counted up to a bound. */
  readonly late: number;
  /** Due times that start no run because a newer one does. */
  readonly replaced: number;
}

/** Without catching up a due time may still be this late: processes are not instantaneous. */
const GRACE_MS = 10_000;
const MAX_COUNTED = 1_000;

/** Decides what a cron does that has been due since `dueMs`. Times are those of the store. */
export function decide(
  times: Timetable,
  { dueMs, nowMs }: { readonly dueMs: number; readonly nowMs: number },
  rule: CatchUpRule,
): DueDecision {
  const windowMs = rule.catchUp === 'none' ? Math.min(GRACE_MS, rule.catchUpMs) : rule.catchUpMs;
  const earliestMs = nowMs - windowMs;
  const newestMs = Math.max(times.last(nowMs) ?? dueMs, dueMs);
  const startMs = rule.catchUp === 'latest' ? newestMs : firstWithin(times, { dueMs, earliestMs });
  if (startMs === null || startMs < earliestMs || startMs > nowMs) {
    return { startMs: null, nextMs: times.next(nowMs), late: count(times, dueMs, nowMs + 1), replaced: 0 };
  }
  const late = count(times, dueMs, Math.min(earliestMs, startMs));
  return {
    startMs,
    nextMs: nextAfter(times, startMs, rule),
    late,
    replaced: Math.max(0, count(times, dueMs, startMs) - late),
  };
}

/** The first due time that is not too late. */
function firstWithin(
  times: Timetable,
  { dueMs, earliestMs }: { readonly dueMs: number; readonly earliestMs: number },
): number | null {
  return dueMs >= earliestMs ? dueMs : times.next(earliestMs - 1);
}

/** The next due time that keeps the least distance. */
const nextAfter = (times: Timetable, startMs: number, { minIntervalMs }: CatchUpRule): number | null =>
  times.next(startMs + minIntervalMs - 1);

/** How many due times there are from `fromMs`, which is one, until before `toMs`. */
function count(times: Timetable, fromMs: number, toMs: number): number {
  let found = 0;
  for (let time: number | null = fromMs; time !== null && time < toMs && found < MAX_COUNTED; time = times.next(time))
    found += 1;
  return found;
}
