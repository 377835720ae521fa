import type { RunRecord } from '@caribou/contracts';
import { sampleTask, taskRecord } from '@caribou/testing';
import { TaskTimeout } from './task-timeout.js';

const START_MS = Date.UTC(2026, 0, 5);
const maxQueueMs = 30_000;
const clock = { now: () => Date.now(), monotonicMs: () => 0, sleep: () => Promise.resolve() };
const ago = (ms: number): string => new Date(START_MS - ms).toISOString();

beforeEach(() => {
  jest.useFakeTimers({ now: START_MS });
});
afterEach(() => {
  jest.useRealTimers();
});

const timeoutOf = (over: Partial<RunRecord>, timeoutMs = 100_000): TaskTimeout =>
  new TaskTimeout({ clock, maxQueueMs }, taskRecord(sampleTask({ timeoutMs }), over));

/** Milliseconds until the timeout aborts its signal. */
function leftOf({ signal }: TaskTimeout): number {
  for (let ms = 0; ms <= 400_000; ms += 1_000) {
    if (signal.aborted) return ms;
    jest.advanceTimersByTime(1_000);
  }
  return Number.POSITIVE_INFINITY;
}

describe(TaskTimeout, () => {
  test('a task that no pool has taken may wait for the time in the queue, counted from its admission', () => {
    expect(leftOf(timeoutOf({ created_at: ago(0) }))).toBe(30_000);
  });

  test('a runner that takes over the parent waits only for the rest of that time', () => {
    expect(leftOf(timeoutOf({ created_at: ago(25_000) }))).toBe(5_000);
    expect(leftOf(timeoutOf({ created_at: ago(50_000) }))).toBeLessThanOrEqual(1_000);
  });

  test('once a pool has the task, its own limit and a minute replace the limit of the queue', () => {
    const timeout = timeoutOf({ created_at: ago(0) });
    jest.advanceTimersByTime(29_000);

    timeout.onStarted();

    expect(timeout).toMatchObject({ hasStarted: true, limitMs: 160_000 });
    expect(leftOf(timeout)).toBe(160_000);
  });

  test('a task that a pool took earlier has only the rest of its limit', () => {
    const timeout = timeoutOf({ created_at: ago(500_000), started_at: ago(100_000) });

    expect(timeout.hasStarted).toBe(true);
    expect(leftOf(timeout)).toBe(60_000);
  });

  test('another pool that continues the task does not restart its time', () => {
    const timeout = timeoutOf({ created_at: ago(0) });
    timeout.onStarted();
    jest.advanceTimersByTime(100_000);

    timeout.onStarted();

    expect(leftOf(timeout)).toBe(60_000);
  });

  test('stop leaves no timer behind', () => {
    const timeout = timeoutOf({ created_at: ago(0) });

    timeout.stop();

    expect(jest.getTimerCount()).toBe(0);
    expect(leftOf(timeout)).toBe(Number.POSITIVE_INFINITY);
  });
});
