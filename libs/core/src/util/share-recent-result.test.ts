import { shareRecentResult } from './share-recent-result.js';

describe(shareRecentResult, () => {
  let nowMs = 0;
  const clock = { monotonicMs: () => nowMs };
  beforeEach(() => (nowMs = 0));

  test('callers within the time share one read, also before it has ended', async () => {
    let reads = 0;
    const read = shareRecentResult(() => Promise.resolve((reads += 1)), { maxAgeMs: 50, clock });
    expect(await Promise.all([read(), read()])).toEqual([1, 1]);
    nowMs = 49;
    expect(await read()).toBe(1);
    nowMs = 50;
    expect(await read()).toBe(2);
  });

  test('a read that is too old is not waited for', async () => {
    const results = [new Promise<string>(() => undefined), Promise.resolve('second')];
    const read = shareRecentResult(() => results.shift() ?? Promise.reject(new Error('read too often')), {
      maxAgeMs: 50,
      clock,
    });
    void read();
    nowMs = 50;
    expect(await read()).toBe('second');
  });

  test('the caller after a failed read reads again', async () => {
    const results = [Promise.reject(new Error('no file')), Promise.resolve('second')];
    const read = shareRecentResult(() => results.shift() ?? Promise.reject(new Error('read too often')), {
      maxAgeMs: 50,
      clock,
    });
    await expect(read()).rejects.toThrow('no file');
    expect(await read()).toBe('second');
  });
});
