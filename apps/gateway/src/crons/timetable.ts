import { type CronTimes, InvalidRequestError } from '@caribou/contracts';
import { Cron } from 'croner';

/** The due times of a cron, in ms since 1970. */
export interface Timetable {
  /** The first due time after a time; null: none. */
  next(afterMs: number): number | null;
  /** The last due time that is not after a time; null: none. */
  last(untilMs: number): number | null;
}

export interface TimetableOptions {
  /** null: UTC. */
  readonly timezone: string | null;
  /** No due time after it; null: no end. */
  readonly endMs: number | null;
}

const NICKNAMES = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];
const FIELDS = 'five fields (minute hour day month weekday), or six with the seconds last';
/** Due times of a new cron whose distances are looked at. */
const LOOKED_AT = 25;
const SECOND = 1_000;

const fault = (field: string, text: string): InvalidRequestError =>
  new InvalidRequestError(`${field}: ${text}`, { details: { field } });

/** Six fields are as LangGraph reads them, with the seconds last; the library has them first. */
function patternOf(expression: string): string {
  const text = expression.trim();
  if (NICKNAMES.includes(text.toLowerCase())) return text.toLowerCase();
  const [minute, hour, day, month, weekday, seconds = '0', ...rest] = text.split(/\s+/);
  if (weekday === undefined || rest.length > 0) throw fault('schedule', `must have ${FIELDS}`);
  return [seconds, minute, hour, day, month, weekday].join(' ');
}

/** @throws {InvalidRequestError} for what is no IANA name */
export function checkTimezone(timezone: string): void {
  try {
    if (!/^[A-Za-z]/.test(timezone)) throw new RangeError('an offset is no name');
    new Intl.DateTimeFormat('en', { timeZone: timezone });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw fault('timezone', 'is not the IANA name of a time zone, such as Europe/Berlin');
  }
}

function parseExpression(expression: string, timezone: string): Cron {
  const pattern = patternOf(expression);
  try {
    return new Cron(pattern, { timezone, paused: true });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw fault('schedule', `is not valid: ${error.message.slice(0, 200)}`);
  }
}

/**
 * The due times of an expression in its time zone. When clocks are set forward, a fixed time that does not exist is due at the
 * change, and due times by `*`, ranges and steps in the missing hour are left out; when they are set back, a fixed time is due
 * once, and those others in both hours.
 */
function expressionTimes(expression: string, timezone: string): Timetable {
  const cron = parseExpression(expression, timezone);
  return {
    next: (afterMs) => cron.nextRun(new Date(afterMs))?.getTime() ?? null,
    last: (untilMs) => {
      const reference = new Date(Math.floor(untilMs / SECOND) * SECOND + SECOND);
      return (
        cron
          .previousRuns(2, reference)
          .find((time) => time.getTime() <= untilMs)
          ?.getTime() ?? null
      );
    },
  };
}

const onceAt = (atMs: number): Timetable => ({
  next: (afterMs) => (atMs > afterMs ? atMs : null),
  last: (untilMs) => (atMs <= untilMs ? atMs : null),
});

/** Whole intervals after the anchor. */
function intervalTimes(everyMs: number, anchorMs: number): Timetable {
  const at = (count: number): number => anchorMs + Math.max(1, count) * everyMs;
  return {
    next: (afterMs) => at(Math.floor((afterMs - anchorMs) / everyMs) + 1),
    last: (untilMs) => (untilMs < at(1) ? null : at(Math.floor((untilMs - anchorMs) / everyMs))),
  };
}

function timesOf(times: CronTimes, timezone: string): Timetable {
  switch (times.type) {
    case 'once':
      return onceAt(toMs(times.at));
    case 'interval':
      return intervalTimes(times.every_seconds * SECOND, toMs(times.anchor));
    case 'cron':
      return expressionTimes(times.expression, timezone);
  }
}

/** @throws {InvalidRequestError} for an expression or a time zone that is not valid, naming the field */
export function timetableOf(times: CronTimes, { timezone, endMs }: TimetableOptions): Timetable {
  if (timezone !== null) checkTimezone(timezone);
  const all = timesOf(times, timezone ?? 'UTC');
  const beforeEnd = (time: number | null): number | null =>
    time !== null && endMs !== null && time > endMs ? null : time;
  return {
    next: (afterMs) => beforeEnd(all.next(afterMs)),
    last: (untilMs) => all.last(endMs === null ? untilMs : Math.min(untilMs, endMs)),
  };
}

/** A time of a client in ms; without an offset it counts as UTC. */
export const toMs = (text: string): number => Date.parse(/(Z|[+-]\d{2}:?\d{2})$/i.test(text) ? text : `${text}Z`);

/**
 * Refuses a timetable with two due times closer to each other than the limit. Only the next ones are looked at; that a cron
 * never starts runs more often is ensured by `decide`.
 *
 * @throws {InvalidRequestError}
 */
export function assertSparse(timetable: Timetable, nowMs: number, minIntervalMs: number): void {
  let previous = timetable.next(nowMs);
  for (let count = 1; count < LOOKED_AT && previous !== null; count += 1) {
    const next = timetable.next(previous);
    if (next !== null && next - previous < minIntervalMs)
      throw fault(
        'schedule',
        `has due times ${(next - previous) / SECOND} s apart; the least is ${minIntervalMs / SECOND} s (crons.min_interval_seconds)`,
      );
    previous = next;
  }
}
