import { InvalidRequestError } from '@caribou/contracts';
import { assertSparse, timetableOf, toMs } from './timetable.js';

const times = (expression: string, timezone: string | null = null, end?: string) =>
  timetableOf({ type: 'cron', expression }, { timezone, endMs: end === undefined ? null : toMs(end) });

/** The next due times after a time. */
function due(expression: string, timezone: string | null, from: string, count: number): string[] {
  const timetable = times(expression, timezone);
  const found: string[] = [];
  let at: number | null = toMs(from);
  while (found.length < count && at !== null) {
    at = timetable.next(at);
    if (at !== null) found.push(new Date(at).toISOString());
  }
  return found;
}

describe('timetableOf', () => {
  test('five fields are minute, hour, day, month and weekday, in UTC unless a zone is named', () => {
    expect(due('30 9 * * MON-FRI', null, '2026-01-02T10:00:00Z', 2)).toEqual([
      '2026-01-05T09:30:00.000Z',
      '2026-01-06T09:30:00.000Z',
    ]);
    expect(due('30 9 * * *', 'Asia/Tokyo', '2026-01-02T10:00:00Z', 1)).toEqual(['2026-01-03T00:30:00.000Z']);
    expect(due('@daily', null, '2026-01-02T10:00:00Z', 1)).toEqual(['2026-01-03T00:00:00.000Z']);
  });

  test('a sixth field has the seconds and is the last one, as LangGraph has it', () => {
    expect(due('* * * * * 0,20', null, '2026-01-02T10:00:00Z', 3)).toEqual([
      '2026-01-02T10:00:20.000Z',
      '2026-01-02T10:01:00.000Z',
      '2026-01-02T10:01:20.000Z',
    ]);
  });

  test('of day and weekday one suffices when both are set', () => {
    expect(due('0 0 13 * FRI', null, '2026-01-08T12:00:00Z', 3)).toEqual([
      '2026-01-09T00:00:00.000Z',
      '2026-01-13T00:00:00.000Z',
      '2026-01-16T00:00:00.000Z',
    ]);
  });

  test('a fixed time that clocks skip is due when they are set forward, once', () => {
    expect(due('30 2 * * *', 'America/New_York', '2026-03-07T12:00:00Z', 2)).toEqual([
      '2026-03-08T07:00:00.000Z',
      '2026-03-09T06:30:00.000Z',
    ]);
  });

  test('steps in the hour that clocks skip are left out', () => {
    expect(due('*/30 2 * * *', 'America/New_York', '2026-03-07T12:00:00Z', 2)).toEqual([
      '2026-03-09T06:00:00.000Z',
      '2026-03-09T06:30:00.000Z',
    ]);
  });

  test('a fixed time that clocks repeat is due once, and every hour is due in both', () => {
    expect(due('30 1 * * *', 'America/New_York', '2026-10-31T12:00:00Z', 2)).toEqual([
      '2026-11-01T05:30:00.000Z',
      '2026-11-02T06:30:00.000Z',
    ]);
    expect(due('15 * * * *', 'America/New_York', '2026-11-01T04:20:00Z', 3)).toEqual([
      '2026-11-01T05:15:00.000Z',
      '2026-11-01T06:15:00.000Z',
      '2026-11-01T07:15:00.000Z',
    ]);
  });

  test('nothing is due after the end', () => {
    const timetable = times('0 * * * *', null, '2026-01-01T02:30:00Z');
    expect(timetable.next(toMs('2026-01-01T01:30:00Z'))).toBe(toMs('2026-01-01T02:00:00Z'));
    expect(timetable.next(toMs('2026-01-01T02:00:00Z'))).toBeNull();
    expect(timetable.last(toMs('2026-01-01T09:00:00Z'))).toBe(toMs('2026-01-01T02:00:00Z'));
  });

  test('the last due time is the newest that is not later', () => {
    const timetable = times('*/10 * * * *');
    const at = toMs('2026-01-01T02:20:00Z');
    expect([timetable.last(at - 1), timetable.last(at), timetable.last(at + 500)]).toEqual([at - 600_000, at, at]);
  });

  test('once is due once', () => {
    const at = toMs('2026-01-01T00:00:00');
    const timetable = timetableOf({ type: 'once', at: '2026-01-01T00:00:00' }, { timezone: null, endMs: null });
    expect([timetable.next(at - 1), timetable.next(at), timetable.last(at - 1), timetable.last(at + 5)]).toEqual([
      at,
      null,
      null,
      at,
    ]);
  });

  test.each([
    ['* * * *', 'schedule: must have five fields'],
    ['* * * * * * *', 'schedule: must have five fields'],
    ['61 * * * *', 'schedule: is not valid'],
    ['0 0 * * NOON', 'schedule: is not valid'],
    ['@reboot', 'schedule: must have five fields'],
    ['2026-01-01T00:00:00', 'schedule: must have five fields'],
    ['', 'schedule: must have five fields'],
  ])('%s is refused', (expression, message) => {
    expect(() => times(expression)).toThrow(InvalidRequestError);
    expect(() => times(expression)).toThrow(message);
  });

  test.each(['Mars/Base', '+02:00', '', 'Europe/Berlin; DROP'])('the time zone "%s" is refused', (timezone) => {
    expect(() => times('* * * * *', timezone)).toThrow('timezone: is not the IANA name');
  });
});

describe('assertSparse', () => {
  const now = toMs('2026-01-01T00:00:30Z');

  test.each([
    ['* * * * * *', 60_000, '1 s apart'],
    ['* * * * * 0,30', 60_000, '30 s apart'],
    ['0,1 12 * * *', 3_600_000, '60 s apart'],
  ])('%s is too frequent for a limit of %s ms', (expression, limit, message) => {
    expect(() => assertSparse(times(expression), now, limit)).toThrow(message);
    expect(() => assertSparse(times(expression), now, limit)).toThrow('crons.min_interval_seconds');
  });

  test('a distance of exactly the limit is accepted', () => {
    expect(() => assertSparse(times('* * * * *'), now, 60_000)).not.toThrow();
  });
});

describe('intervals', () => {
  const every = (seconds: number, end?: string) =>
    timetableOf(
      { type: 'interval', every_seconds: seconds, anchor: '2026-01-01T00:00:00.500Z' },
      { timezone: 'Europe/Berlin', endMs: end === undefined ? null : toMs(end) },
    );
  const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

  test('the first due time is one interval after the anchor, however early it is asked for', () => {
    expect(iso(every(90).next(toMs('2026-01-01T00:00:00.500Z')))).toBe('2026-01-01T00:01:30.500Z');
    expect(iso(every(90).next(toMs('2025-12-01T00:00:00Z')))).toBe('2026-01-01T00:01:30.500Z');
    expect(every(90).last(toMs('2026-01-01T00:01:30.499Z'))).toBeNull();
  });

  test('due times are whole intervals after the anchor, so that a late start moves none', () => {
    expect(iso(every(90).next(toMs('2026-01-01T00:01:30.500Z')))).toBe('2026-01-01T00:03:00.500Z');
    expect(iso(every(90).next(toMs('2026-01-01T00:02:59Z')))).toBe('2026-01-01T00:03:00.500Z');
    expect(iso(every(90).last(toMs('2026-01-01T00:02:59Z')))).toBe('2026-01-01T00:01:30.500Z');
    expect(iso(every(90).last(toMs('2026-01-01T00:03:00.500Z')))).toBe('2026-01-01T00:03:00.500Z');
  });

  test('clocks that are set forward or back change no interval', () => {
    const day = every(86_400);
    expect(iso(day.next(toMs('2026-03-29T00:00:01Z')))).toBe('2026-03-30T00:00:00.500Z');
  });

  test('nothing is due after the end', () => {
    expect(every(90, '2026-01-01T00:02:00Z').next(toMs('2026-01-01T00:01:31Z'))).toBeNull();
    expect(iso(every(90, '2026-01-01T00:02:00Z').last(toMs('2027-01-01T00:00:00Z')))).toBe('2026-01-01T00:01:30.500Z');
  });
});
