import { waitFor } from '@caribou/testing';
import { giveBackWhenIdle } from './idle-memory.js';

describe(giveBackWhenIdle, () => {
  let end = (): void => undefined;
  afterEach(() => {
    end();
    jest.useRealTimers();
  });

  /** Collections that are asked for in 10 looks. */
  function collections(options: { readonly busyShare: number; readonly grownBytes: number }): number {
    jest.useFakeTimers();
    let count = 0;
    end = giveBackWhenIdle({ lookMs: 50, ...options }, (onDone) => {
      count += 1;
      onDone();
    });
    jest.advanceTimersByTime(500);
    return count;
  }

  test('an idle process hands back what nobody holds any more', async () => {
    const garbage = new WeakRef({ some: 'object' });

    end = giveBackWhenIdle({ lookMs: 20, busyShare: 1, grownBytes: 0 });

    await waitFor(() => garbage.deref() === undefined, { what: 'a collection' });
  });

  test('a collection is worth its time where the heap has grown since the last one', () => {
    expect(collections({ busyShare: 1, grownBytes: -Infinity })).toBe(10);
  });

  test('an idle process whose heap has not grown is left alone after its first collection', () => {
    expect(collections({ busyShare: 1, grownBytes: 1 })).toBeLessThan(10);
    expect(collections({ busyShare: 1, grownBytes: Number.MAX_SAFE_INTEGER })).toBe(0);
  });

  test('a busy process is left alone', () => {
    expect(collections({ busyShare: -1, grownBytes: 0 })).toBe(0);
  });
});
