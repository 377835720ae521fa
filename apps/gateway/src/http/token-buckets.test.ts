import { setImmediate } from 'node:timers/promises';
import { UnavailableError } from '@caribou/contracts';
import type { RequestBuckets } from '@caribou/state';
import { TokenBuckets } from './token-buckets.js';

/** One shared bucket, which never refills. */
class SharedBucket implements RequestBuckets {
  calls = 0;
  failing = false;

  constructor(private left: number) {}

  async spend(_name: unknown, tokens: number): Promise<number> {
    this.calls += 1;
    await setImmediate();
    if (this.failing) throw new UnavailableError('no Redis');
    this.left -= tokens;
    return this.left;
  }
}

const rate = { perSecond: 10, burst: 100 };
let nowMs = 0;

beforeEach(() => {
  nowMs = 0;
});

const bucketsOf = (shared: RequestBuckets) => new TokenBuckets('user', rate, shared, () => nowMs);

/** Makes requests until one is refused, with time for reports in between; returns how many were accepted. */
async function accepted(gateways: readonly TokenBuckets[], most: number): Promise<number> {
  for (let count = 0; count < most; count += 1) {
    const gateway = gateways[count % gateways.length];
    if (gateway === undefined || gateway.waitMs('ann') > 0) return count;
    gateway.spend('ann', 1);
    for (let turn = 0; turn < 3; turn += 1) await setImmediate();
  }
  return most;
}

describe(TokenBuckets, () => {
  test('a burst is accepted, then as much as is added, and the wait is the time until the next token', async () => {
    const buckets = bucketsOf(new SharedBucket(100));
    expect(await accepted([buckets], 200)).toBe(100);
    expect(buckets.waitMs('ann')).toBe(100);
    nowMs += 60;
    expect(buckets.waitMs('ann')).toBe(40);
    nowMs += 40;
    expect(buckets.waitMs('ann')).toBe(0);
    expect(buckets.waitMs('bob')).toBe(0);
  });

  test('three gateways accept together no more than one', async () => {
    const shared = new SharedBucket(100);
    const count = await accepted([bucketsOf(shared), bucketsOf(shared), bucketsOf(shared)], 400);
    // Each gateway may spend a tenth of what is left before it reports it.
    expect(count).toBeGreaterThanOrEqual(95);
    expect(count).toBeLessThanOrEqual(120);
  });

  test('requests far below the limit cost a fraction of a command each', async () => {
    const shared = new SharedBucket(100);
    const buckets = bucketsOf(shared);
    for (let request = 0; request < 9; request += 1) buckets.spend('ann', 1);
    expect(shared.calls).toBe(0);
    for (let request = 0; request < 20; request += 1) {
      nowMs += 1_000;
      buckets.spend('ann', 1);
      await setImmediate();
    }
    expect(shared.calls).toBeLessThanOrEqual(3);
  });

  test('at most one report of a bucket is under way, however many requests come', async () => {
    const shared = new SharedBucket(100);
    const buckets = bucketsOf(shared);
    for (let request = 0; request < 90; request += 1) buckets.spend('ann', 1);
    expect(shared.calls).toBe(1);
  });

  test('while Redis is away the own bucket decides, and reports begin again afterwards', async () => {
    const shared = new SharedBucket(100);
    const buckets = bucketsOf(shared);
    shared.failing = true;
    expect(await accepted([buckets], 60)).toBe(60);
    expect(shared.calls).toBe(1);

    shared.failing = false;
    nowMs += 1_000;
    await accepted([buckets], 5);
    expect(shared.calls).toBeGreaterThan(1);
  });

  test('a debt is bounded by a minute', () => {
    const buckets = bucketsOf(new SharedBucket(100));
    buckets.spend('ann', 1_000_000);
    expect(buckets.waitMs('ann')).toBe(60_100);
    expect(buckets.state('ann')).toEqual({ remaining: 0, fullInMs: 70_000 });
  });
});
