import { type Clock, RunCancelled, RunTimedOut } from '@caribou/core';
import { sampleTask, taskRecord } from '@caribou/testing';
import { startRunTimeout } from './run-timeout.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A clock whose waits end when the test says so. */
function handClock() {
  const waits: number[] = [];
  let ring: () => void = () => undefined;
  const clock: Pick<Clock, 'sleep'> = {
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        waits.push(ms);
        ring = resolve;
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  };
  return { clock, waits, ring: () => ring() };
}

function limited(timeoutMs: number | undefined, ranMs: number) {
  const failures: unknown[] = [];
  const record = taskRecord(sampleTask());
  const { timeout_ms: _, ...without } = record.kwargs;
  const run = { ...record, kwargs: timeoutMs === undefined ? without : { ...without, timeout_ms: timeoutMs } };
  const hand = handClock();
  const { stop } = startRunTimeout({ run, ranMs }, { fail: (reason) => void failures.push(reason) }, hand.clock);
  return { failures, stop, ...hand };
}

describe(startRunTimeout, () => {
  test('ends the work once the time is over, as a cancel that says so', async () => {
    const { failures, waits, ring } = limited(900_000, 0);
    expect(waits).toEqual([900_000]);
    await turn();
    expect(failures).toEqual([]);

    ring();
    await turn();

    expect(failures).toEqual([new RunTimedOut(900_000)]);
    expect(failures[0]).toBeInstanceOf(RunCancelled);
    expect(failures[0]).toMatchObject({ message: 'Execution timed out after 900 seconds', action: 'interrupt' });
  });

  test.each([
    [100_000, 800_000],
    [900_000, 0],
    [5_000_000, 0],
  ])('a takeover %d ms after the first claim has %d ms left', (ranMs, left) => {
    expect(limited(900_000, ranMs).waits).toEqual([left]);
  });

  test('a run that ended in time is left alone', async () => {
    const { failures, stop, ring } = limited(900_000, 0);

    stop();
    ring();
    await turn();

    expect(failures).toEqual([]);
  });

  test('a run without a limit may take as long as it likes', () => {
    expect(limited(undefined, 1e9).waits).toEqual([]);
  });
});
