import { waitFor } from '@caribou/testing';
import { releaseMemoryWhenIdle } from './idle-memory.js';

describe(releaseMemoryWhenIdle, () => {
  let end = (): void => undefined;
  afterEach(() => {
    end();
    jest.useRealTimers();
  });

  /** Number of collections in 10 checks. */
  function collections(options: Partial<Parameters<typeof releaseMemoryWhenIdle>[0]>): number {
    jest.useFakeTimers();
    let count = 0;
    end = releaseMemoryWhenIdle({ checkMs: 50, startCpuMs: Infinity, ...options }, (onDone) => {
      count += 1;
      onDone();
    });
    jest.advanceTimersByTime(500);
    return count;
  }

  test('an idle process collects unreachable objects', async () => {
    const garbage = new WeakRef({ some: 'object' });

    end = releaseMemoryWhenIdle({ checkMs: 20, busyShare: 1, grownBytes: 0, startCpuMs: Infinity });

    await waitFor(() => garbage.deref() === undefined, { what: 'a collection' });
  });

  test('there is a collection whenever the heap has grown since the last one', () => {
    expect(collections({ busyShare: 1, grownBytes: -Infinity })).toBe(10);
  });

  test('there is no further collection while the heap of an idle process does not grow', () => {
    expect(collections({ busyShare: 1, grownBytes: 1 })).toBeLessThan(10);
    expect(collections({ busyShare: 1, grownBytes: Number.MAX_SAFE_INTEGER })).toBe(0);
  });

  test('a process that has worked must have been idle for longer', () => {
    const always = { busyShare: 1, grownBytes: -Infinity };
    expect(collections({ ...always, startCpuMs: 0, idleMs: 200 })).toBe(2);
    expect(collections({ ...always, startCpuMs: 0, idleMs: 600 })).toBe(0);
    expect(collections({ ...always, startCpuMs: Infinity, idleMs: 600 })).toBe(10);
  });

  test('there is no collection in a busy process', () => {
    expect(collections({ busyShare: -1, grownBytes: 0 })).toBe(0);
  });
});
