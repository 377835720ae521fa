import { RefusalDelay } from './refusal-delay.js';

describe(RefusalDelay, () => {
  const isSettled = async (promise: Promise<void>): Promise<boolean> =>
    Promise.race([promise.then(() => true), new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))]);

  test('holds a refusal back for its time', async () => {
    const delay = new RefusalDelay(20);
    const startMs = performance.now();
    await delay.pass('ann');
    expect(performance.now() - startMs).toBeGreaterThan(15);
  });

  test('holds back at most 64 of a user, and of others as many', async () => {
    const delay = new RefusalDelay(60_000);
    const held = Array.from({ length: 64 }, () => delay.pass('ann'));
    expect(await isSettled(delay.pass('ann'))).toBe(true);
    expect(await isSettled(delay.pass('bob'))).toBe(false);
    expect(await Promise.all(held.map(isSettled))).not.toContain(true);
  });

  test('a refusal that was answered makes room', async () => {
    const delay = new RefusalDelay(10);
    await Promise.all(Array.from({ length: 64 }, () => delay.pass('ann')));
    expect(await isSettled(delay.pass('ann'))).toBe(false);
  });
});
