import type { BucketRate, RequestBuckets } from '../ports/request-buckets.js';
import { type StoreFixture, useStore } from '@caribou/testing';
import { redisRequestBuckets } from './request-buckets.js';

let store: StoreFixture;
let buckets: RequestBuckets;

useStore((opened) => {
  store = opened;
  buckets = redisRequestBuckets(store.redis);
});

const ann = { kind: 'user', id: 'ann' } as const;
/** So slow that a test sees no refill. */
const slow: BucketRate = { perSecond: 0.001, burst: 10, lowest: -5 };

describe(redisRequestBuckets, () => {
  test('a new bucket is full, and all who spend from it see what is left', async () => {
    const lefts = await Promise.all([1, 2, 3].map((tokens) => buckets.spend(ann, tokens, slow)));
    expect(lefts.map(Math.round).sort((one, other) => one - other)).toEqual([4, 7, 9]);
  });

  test('users and keys of the same name have buckets of their own', async () => {
    await buckets.spend(ann, 8, slow);
    expect(await buckets.spend({ kind: 'key', id: 'ann' }, 1, slow)).toBeCloseTo(9);
    expect(await buckets.spend({ kind: 'user', id: 'bob' }, 1, slow)).toBeCloseTo(9);
  });

  test('a debt is bounded, and time refills the bucket up to its size', async () => {
    expect(await buckets.spend(ann, 100, slow)).toBeCloseTo(-5);
    const bucket = store.redis.keys.requestBucket('user', 'ann');
    await store.redis.use((client) => client.hset(bucket, 'at', Date.now() - 7_000));
    expect(await buckets.spend(ann, 0, { ...slow, perSecond: 1 })).toBeCloseTo(2, 0);
    await store.redis.use((client) => client.hset(bucket, 'at', Date.now() - 3_600_000));
    expect(await buckets.spend(ann, 0, { ...slow, perSecond: 1 })).toBe(10);
  });

  test('a clock that jumped back takes nothing away', async () => {
    await buckets.spend(ann, 4, slow);
    const bucket = store.redis.keys.requestBucket('user', 'ann');
    await store.redis.use((client) => client.hset(bucket, 'at', Date.now() + 3_600_000));
    expect(await buckets.spend(ann, 1, slow)).toBeCloseTo(5);
  });

  test('a bucket expires once it would be full', async () => {
    await buckets.spend(ann, 5, { ...slow, perSecond: 1 });
    const ttlMs = await store.redis.use((client) => client.pttl(store.redis.keys.requestBucket('user', 'ann')));
    expect(ttlMs).toBeGreaterThan(4_000);
    expect(ttlMs).toBeLessThanOrEqual(6_000);
  });
});
