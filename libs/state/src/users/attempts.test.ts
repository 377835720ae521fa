import type { AttemptLimit, AttemptStore } from '../ports/attempt-store.js';
import { type StoreFixture, useStore, waitFor } from '@caribou/testing';
import { redisAttempts } from './attempts.js';

let store: StoreFixture;
let attempts: AttemptStore;

useStore((opened) => {
  store = opened;
  attempts = redisAttempts(store.redis);
});

const account = (name: string, limit = 2): AttemptLimit => ({ kind: 'account', name, limit });
const address: AttemptLimit = { kind: 'address', name: '192.0.2.1', limit: 3 };

describe(redisAttempts, () => {
  test('of concurrent attempts no more are allowed than the limit', async () => {
    const waits = await Promise.all(Array.from({ length: 6 }, () => attempts.count([account('ann')], 60_000)));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(2);
    for (const wait of waits.filter((one) => one > 0)) expect(wait).toBeLessThanOrEqual(60_000);
  });

  test('each limit counts separately, and a refused attempt does not count', async () => {
    for (const name of ['ann', 'ann', 'bob']) expect(await attempts.count([account(name), address], 60_000)).toBe(0);
    expect(await attempts.count([account('carl'), address], 60_000)).toBeGreaterThan(0);
    expect(await attempts.count([account('carl')], 60_000)).toBe(0);
    expect(await attempts.count([account('carl')], 60_000)).toBe(0);
    expect(await attempts.count([account('carl')], 60_000)).toBeGreaterThan(0);
    expect(await attempts.count([{ ...account('ann'), kind: 'other' }], 60_000)).toBe(0);
  });

  test('an attempt that is taken back is free again, and never more than one', async () => {
    await attempts.count([account('ann')], 60_000);
    await attempts.refund([account('ann')]);
    await attempts.refund([account('ann')]);
    const waits = [];
    for (let count = 0; count < 3; count += 1) waits.push((await attempts.count([account('ann')], 60_000)) > 0);
    expect(waits).toEqual([false, false, true]);
  });

  test('a window begins with its first attempt, and no later one prolongs it', async () => {
    for (const windowMs of [10_000, 60_000]) await attempts.count([account('ann')], windowMs);
    const wait = await attempts.count([account('ann')], 60_000);
    expect([wait > 0, wait <= 10_000]).toEqual([true, true]);
  });

  test('a window ends with its time, also when an attempt in it was taken back', async () => {
    for (let count = 0; count < 2; count += 1) await attempts.count([account('ann')], 40);
    await attempts.refund([account('ann')]);
    await attempts.count([account('ann')], 40);
    await waitFor(async () => (await attempts.count([account('ann')], 40)) === 0, { what: 'the end of the window' });
    await waitFor(async () => (await store.keys()).length === 0, { what: 'the counters to go' });
  });
});
