import type { RunRecord } from '@caribou/contracts';
import { sampleTask, taskRecord } from '@caribou/testing';
import { TaskPatience } from './task-patience.js';

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

const patienceWith = (over: Partial<RunRecord>, timeoutMs = 100_000): TaskPatience =>
  new TaskPatience({ clock, maxQueueMs }, taskRecord(sampleTask({ timeoutMs }), over));

/** Milliseconds from now after which it is over. */
function leftOf({ signal }: TaskPatience): number {
  for (let ms = 0; ms <= 400_000; ms += 1_000) {
    if (signal.aborted) return ms;
    jest.advanceTimersByTime(1_000);
  }
  return Number.POSITIVE_INFINITY;
}

describe(TaskPatience, () => {
  test('a task that nobody has taken is waited for as long as it may queue, from when it was handed over', () => {
    expect(leftOf(patienceWith({ created_at: ago(0) }))).toBe(30_000);
  });

  test('a runner that takes its parent over waits for the rest of that time', () => {
    expect(leftOf(patienceWith({ created_at: ago(25_000) }))).toBe(5_000);
    expect(leftOf(patienceWith({ created_at: ago(50_000) }))).toBeLessThanOrEqual(1_000);
  });

  test('once a pool has it the time in the queue counts no more: its own limit does, and a minute', () => {
    const patience = patienceWith({ created_at: ago(0) });
    jest.advanceTimersByTime(29_000);

    patience.started();

    expect(patience).toMatchObject({ hasStarted: true, limitMs: 160_000 });
    expect(leftOf(patience)).toBe(160_000);
  });

  test('a task that a pool took long ago has what is left of its limit', () => {
    const patience = patienceWith({ created_at: ago(500_000), started_at: ago(100_000) });

    expect(patience.hasStarted).toBe(true);
    expect(leftOf(patience)).toBe(60_000);
  });

  test('another pool that goes on with it does not begin its time anew', () => {
    const patience = patienceWith({ created_at: ago(0) });
    patience.started();
    jest.advanceTimersByTime(100_000);

    patience.started();

    expect(leftOf(patience)).toBe(60_000);
  });

  test('a wait that is over leaves no timer behind', () => {
    const patience = patienceWith({ created_at: ago(0) });

    patience.stop();

    expect(jest.getTimerCount()).toBe(0);
    expect(leftOf(patience)).toBe(Number.POSITIVE_INFINITY);
  });
});
