import { type CatchUpRule, decide } from './decide.js';
import { timetableOf } from './timetable.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOON = Date.parse('2026-01-01T12:00:00Z');
const everyMinute = timetableOf({ type: 'cron', expression: '* * * * *' }, { timezone: null, endMs: null });
const rule = (over: Partial<CatchUpRule> = {}): CatchUpRule => ({
  catchUp: 'latest',
  catchUpMs: HOUR,
  minIntervalMs: MINUTE,
  ...over,
});

describe('decide', () => {
  test.each(['latest', 'all', 'none'] as const)('a due time that is a little late starts its run: %s', (catchUp) => {
    expect(decide(everyMinute, { dueMs: NOON, nowMs: NOON + 900 }, rule({ catchUp }))).toEqual({
      startMs: NOON,
      nextMs: NOON + MINUTE,
      late: 0,
      replaced: 0,
    });
  });

  test('latest: after an outage one run is started, for the newest due time', () => {
    expect(decide(everyMinute, { dueMs: NOON, nowMs: NOON + 10 * MINUTE + 5_000 }, rule())).toEqual({
      startMs: NOON + 10 * MINUTE,
      nextMs: NOON + 11 * MINUTE,
      late: 0,
      replaced: 10,
    });
  });

  test('all: each due time of the window starts a run, the oldest first, and older ones are left out', () => {
    const decision = decide(everyMinute, { dueMs: NOON, nowMs: NOON + 2 * HOUR + 1 }, rule({ catchUp: 'all' }));

    expect(decision).toEqual({
      startMs: NOON + HOUR + MINUTE,
      nextMs: NOON + HOUR + 2 * MINUTE,
      late: 61,
      replaced: 0,
    });
  });

  test('none: a missed due time starts nothing, and the next one is in the future', () => {
    expect(decide(everyMinute, { dueMs: NOON, nowMs: NOON + 30_000 }, rule({ catchUp: 'none' }))).toEqual({
      startMs: null,
      nextMs: NOON + MINUTE,
      late: 1,
      replaced: 0,
    });
  });

  test('a rare due time that was missed by more than the window starts nothing', () => {
    const daily = timetableOf({ type: 'cron', expression: '0 12 * * *' }, { timezone: null, endMs: null });

    expect(decide(daily, { dueMs: NOON, nowMs: NOON + 2 * HOUR }, rule())).toEqual({
      startMs: null,
      nextMs: NOON + 24 * HOUR,
      late: 1,
      replaced: 0,
    });
    expect(decide(daily, { dueMs: NOON, nowMs: NOON + HOUR - 1 }, rule())).toMatchObject({ startMs: NOON });
  });

  test('the least distance is kept whatever the schedule says', () => {
    expect(decide(everyMinute, { dueMs: NOON, nowMs: NOON }, rule({ minIntervalMs: 5 * MINUTE })).nextMs).toBe(
      NOON + 5 * MINUTE,
    );
  });

  test('after the last due time there is none', () => {
    const once = timetableOf({ type: 'once', at: '2026-01-01T12:00:00Z' }, { timezone: null, endMs: null });

    expect(decide(once, { dueMs: NOON, nowMs: NOON + 5_000 }, rule())).toEqual({
      startMs: NOON,
      nextMs: null,
      late: 0,
      replaced: 0,
    });
  });
});
