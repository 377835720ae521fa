import { type CorkableStream, WriteCoalescer } from './write-coalescer.js';

/** A stream that counts when it was let go. */
const stream = (): CorkableStream & { corked: number; readonly writtenAtMs: number[] } => ({
  corked: 0,
  writtenAtMs: [],
  cork() {
    this.corked += 1;
  },
  uncork() {
    this.corked -= 1;
    this.writtenAtMs.push(performance.now());
  },
});

describe(WriteCoalescer, () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  test('what one turn of the event loop writes goes out at its end', () => {
    const out = stream();
    const writes = new WriteCoalescer({ sustainedPerSecond: 500 });
    for (let index = 0; index < 5; index += 1) writes.cork(out);
    expect(out).toMatchObject({ corked: 1, writtenAtMs: [] });

    jest.advanceTimersByTime(0);

    expect(out.corked).toBe(0);
    expect(out.writtenAtMs).toHaveLength(1);
  });

  test('a burst after an idle time does not wait, and then the rate is limited', () => {
    const out = stream();
    const writes = new WriteCoalescer({ sustainedPerSecond: 500, burst: 16 });
    const startMs = performance.now();
    const untilMs = startMs + 200;
    let inTheFirstMs = 0;
    while (performance.now() < untilMs) {
      for (let index = 0; index < 4; index += 1) {
        writes.cork(out);
        if (performance.now() < startMs + 4) jest.advanceTimersByTime(0);
      }
      jest.advanceTimersByTime(1);
      if (performance.now() <= startMs + 4) inTheFirstMs = out.writtenAtMs.length;
    }
    jest.runAllTimers();

    expect(inTheFirstMs).toBeGreaterThanOrEqual(15);
    expect(out.corked).toBe(0);
    expect(out.writtenAtMs.length).toBeLessThanOrEqual(16 + 200 / 2 + 2);
    expect(out.writtenAtMs.length).toBeGreaterThanOrEqual(16 + 200 / 3 - 2);
  });

  test('nothing waits longer than the pause between two writes', () => {
    const out = stream();
    const writes = new WriteCoalescer({ sustainedPerSecond: 500 });
    for (let index = 0; index < 100; index += 1) {
      writes.cork(out);
      const gatheredMs = performance.now();
      jest.advanceTimersByTime(3);
      expect(out.writtenAtMs.at(-1)).toBeLessThanOrEqual(gatheredMs + 3);
    }
  });

  test('after a reconnect the new stream is gathered and the old one still let go', () => {
    const [before, after] = [stream(), stream()];
    const writes = new WriteCoalescer({ sustainedPerSecond: 500 });
    writes.cork(before);
    writes.cork(after);
    writes.cork(after);
    jest.advanceTimersByTime(5);

    expect([before.corked, after.corked]).toEqual([0, 0]);
    writes.cork(after);
    expect(after.corked).toBe(1);
  });
});
