import { ObjectStoreCheck } from './object-store-check.js';

describe(ObjectStoreCheck, () => {
  test('asks at most once in five seconds, and says what failed', async () => {
    let [asked, nowMs] = [0, 0];
    let isAway = false;
    const head = () => {
      asked += 1;
      return isAway ? Promise.reject(new Error('away')) : Promise.resolve(undefined);
    };
    const check = new ObjectStoreCheck({ head }, () => nowMs);
    await Promise.all([check.check(), check.check()]);
    expect(asked).toBe(1);
    isAway = true;
    nowMs = 5_000;
    await expect(check.check()).rejects.toThrow('away');
    await expect(check.check()).rejects.toThrow('away');
    expect(asked).toBe(2);
  });
});
