import { RefusalDelay } from './refusal-delay.js';

describe(RefusalDelay, () => {
  const isSettled = async (promise: Promise<void>): Promise<boolean> =>
    Promise.race([promise.then(() => true), new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))]);

  /** Without chance: the whole delay. */
  const delayOf = (shortestMs: number, longestMs = shortestMs, random = 0): RefusalDelay =>
    new RefusalDelay(shortestMs, longestMs, () => random);
  /** The loop turns first: a timer counts from the time that it has noted, which may be some milliseconds ago. */
  const timeOf = async (pass: () => Promise<void>): Promise<number> => {
    await new Promise((resolve) => setImmediate(resolve));
    const startMs = performance.now();
    await pass();
    return performance.now() - startMs;
  };

  test('holds a refusal back for as long as its user has to wait, within bounds', async () => {
    expect(await timeOf(() => delayOf(20, 60).pass('ann', 1))).toBeGreaterThan(15);
    expect(await timeOf(() => delayOf(0, 60).pass('ann', 30))).toBeGreaterThan(25);
    await delayOf(0, 10).pass('ann', 3_600_000);
  });

  test('draws half of the delay at random', async () => {
    const delay = delayOf(100, 100, 1);
    expect(await timeOf(() => delay.pass('ann', 0))).toBeGreaterThan(45);
    const whole = delayOf(60_000, 60_000, 0).pass('ann', 0);
    await delay.pass('bob', 0);
    expect(await isSettled(whole)).toBe(false);
  });

  test('holds back at most 64 of a user, and of others as many', async () => {
    const delay = delayOf(60_000);
    const held = Array.from({ length: 64 }, () => delay.pass('ann', 0));
    expect(await isSettled(delay.pass('ann', 0))).toBe(true);
    expect(await isSettled(delay.pass('bob', 0))).toBe(false);
    expect(await Promise.all(held.map(isSettled))).not.toContain(true);
  });

  test('a refusal that was answered makes room', async () => {
    const delay = delayOf(10);
    await Promise.all(Array.from({ length: 64 }, () => delay.pass('ann', 0)));
    expect(await isSettled(delay.pass('ann', 0))).toBe(false);
  });
});
