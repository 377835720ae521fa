import type { MemoryJobsFixture } from '../../testing/memory-jobs-fixture.js';
import { useMemoryJobs } from '../../testing/memory-jobs-fixture.js';
import { readMemoryQueue } from './memory-queue.js';

let fixture: MemoryJobsFixture;

useMemoryJobs((opened) => {
  fixture = opened;
});

const MINUTE_MS = 60_000;

describe('readMemoryQueue', () => {
  test('counts threads that have been quiet for the debounce time, and since when the first one has', async () => {
    const { redis } = fixture.stores;
    const read = () => readMemoryQueue(redis, MINUTE_MS);
    expect(await read()).toEqual({ length: 0, oldestWaitMs: 0 });

    const spoke = (thread: string, minutesAgo: number) =>
      redis.use((client) =>
        client.zadd(redis.keys.memoryQueue, Date.now() - minutesAgo * MINUTE_MS, `alice/${thread}/lead_agent`),
      );
    await spoke('t1', 4);
    await spoke('t2', 2);
    await spoke('t3', 0);
    const { length, oldestWaitMs } = await read();
    expect([length, Math.round(oldestWaitMs / MINUTE_MS)]).toEqual([2, 3]);
  });
});
