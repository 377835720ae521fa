import type { CronRun } from '@caribou/state';
import { type CatchUp, type CronHistory, judgeDueTimes } from './due-time-rule.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A decision about the due time of a minute, made so many ms after it. */
const decision = (minute: number, lateMs: number, runId?: string): CronRun => ({
  id: `${minute}`,
  trigger: 'scheduled',
  scheduledFor: new Date(minute * MINUTE).toISOString(),
  createdAt: new Date(minute * MINUTE + lateMs).toISOString(),
  ...(runId === undefined ? { error: 'missed' } : { runId }),
});

const judge = (catchUp: CatchUp, decisions: readonly CronRun[], nextMinute: number, over: Partial<CronHistory> = {}) =>
  judgeDueTimes({
    catchUp,
    catchUpMs: HOUR,
    stepMs: MINUTE,
    firstMs: 0,
    nextMs: nextMinute * MINUTE,
    decisions,
    ...over,
  });

describe('judgeDueTimes', () => {
  test.each(['latest', 'all', 'none'] as const)('accepts a run for each due time, rule %s', (catchUp) => {
    const found = judge(catchUp, [decision(0, 5, 'a'), decision(1, 900, 'b')], 2);
    expect(found).toEqual({ started: [0, MINUTE], late: [], replaced: [], faults: [] });
  });

  test('all: each missed due time starts a run, those older than the bound start none', () => {
    const caughtUp = [decision(0, 5, 'a'), decision(1, 3 * MINUTE, 'b'), decision(2, 2 * MINUTE, 'c')];
    expect(judge('all', caughtUp, 3).faults).toEqual([]);
    expect(judge('all', [decision(2, 2 * MINUTE, 'c')], 3).faults).toHaveLength(2);
    const partly = judge('all', [decision(1, 3 * MINUTE, 'b'), decision(2, 2 * MINUTE, 'c')], 3, {
      catchUpMs: 3 * MINUTE,
    });
    expect(partly).toEqual({ started: [MINUTE, 2 * MINUTE], late: [0], replaced: [], faults: [] });
  });

  test('latest: only the newest due time starts a run', () => {
    const found = judge('latest', [decision(0, 5, 'a'), decision(5, 40_000, 'b')], 6);
    expect(found).toMatchObject({ replaced: [1, 2, 3, 4].map((minute) => minute * MINUTE), faults: [] });
    expect(judge('latest', [decision(0, 90_000, 'a')], 1).faults).toEqual([
      expect.stringContaining('a newer one was due'),
    ]);
  });

  test('none: a due time that is more than ten seconds late starts no run, and one that is less late does', () => {
    const skipped = [decision(0, 5, 'a'), decision(1, 4 * MINUTE + 30_000), decision(6, 10_000, 'b')];
    expect(judge('none', skipped, 7)).toMatchObject({ late: [1, 2, 3, 4, 5].map((at) => at * MINUTE), faults: [] });
    expect(judge('none', [decision(0, 10_001, 'a')], 1).faults).toHaveLength(1);
    expect(judge('none', [decision(0, 9_000)], 1).faults).toHaveLength(1);
  });

  test('finds a due time with two runs, one that started early, one that is none, and one that nobody decided about', () => {
    expect(judge('all', [decision(0, 5, 'a'), decision(0, 7, 'b')], 1).faults).toHaveLength(1);
    expect(judge('all', [decision(0, -1, 'a')], 1).faults).toHaveLength(1);
    expect(judge('all', [decision(0, 5, 'a'), decision(0.5, 5, 'b')], 1).faults).toHaveLength(1);
    expect(judge('all', [decision(0, 5, 'a')], 3).faults).toHaveLength(2);
  });
});
