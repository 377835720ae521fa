import type { Locks } from '../ports/locks.js';
import { silentLogger } from '@caribou/core';
import { startRedis, type TestServer, waitFor } from '@caribou/testing';
import { createRedis, type RedisConnection, redisLocks } from '../index.js';

describe(redisLocks, () => {
  let server: TestServer;
  let redis: RedisConnection;
  let locks: Locks;

  beforeAll(async () => {
    server = await startRedis();
    redis = createRedis({ url: server.url, logger: silentLogger });
    locks = redisLocks(redis);
  });
  afterAll(async () => {
    await redis.close();
    await server.stop();
  });

  test('one owner has a lock, and another gets it once it is released', async () => {
    expect(await Promise.all(['a', 'b', 'c'].map((owner) => locks.acquire('one', owner, 60_000)))).toEqual([
      true,
      false,
      false,
    ]);
    expect(await locks.acquire('two', 'b', 60_000)).toBe(true);
    await locks.release('one', 'b');
    expect(await locks.acquire('one', 'b', 60_000)).toBe(false);
    await locks.release('one', 'a');
    expect(await locks.acquire('one', 'b', 60_000)).toBe(true);
  });

  test('a lock ends by itself', async () => {
    expect(await locks.acquire('short', 'a', 50)).toBe(true);
    await waitFor(() => locks.acquire('short', 'b', 60_000), { what: 'the lock to end' });
  });
});
