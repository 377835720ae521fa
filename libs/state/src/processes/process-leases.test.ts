import { type StoreFixture, useStore } from '@caribou/testing';
import { redisSandboxRegistry } from '../executions/sandbox-registry.js';
import { taskPart } from '../tasks/task-store.js';
import { readProcessLeases } from './process-leases.js';
import { redisProcessRegistry } from './process-registry.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

const TIMES = { processLeaseMs: 30_000, managerLeaseMs: 10_000 };
const read = () => readProcessLeases(store.redis, TIMES);

/** One process of each service that has a lease. */
async function openAll() {
  const { redis } = store;
  const runners = redisProcessRegistry(redis, 'runs');
  await runners.renew({ processId: 'r1', leaseMs: 30_000 });
  await redisProcessRegistry(taskPart(redis), 'runs').renew({ processId: 'p1', leaseMs: 30_000 });
  await redisProcessRegistry(redis, 'memory').renew({ processId: 'w1', leaseMs: 30_000 });
  await redisSandboxRegistry(redis).renewManager('m1', 10_000);
  return runners;
}

describe('readProcessLeases', () => {
  test('lists the processes of all services that have leases', async () => {
    await openAll();

    const { leases, isCut } = await read();
    expect(leases.map(({ service, processId, held }) => [service, processId, held])).toEqual([
      ['agent-runner', 'r1', true],
      ['subagent-pool', 'p1', true],
      ['memory-worker', 'w1', true],
      ['sandbox-manager', 'm1', true],
    ]);
    expect(isCut).toBe(false);
    for (const { renewedMsAgo } of leases) expect(renewedMsAgo).toBeLessThan(5_000);
  });

  test('a lease that lapsed is listed for a minute, with the time since its last renewal', async () => {
    await openAll();
    const { redis } = store;
    const { ends } = redis.keys.processes('runs');
    await redis.use((client) => client.zincrby(ends, -40_000, 'r1'));
    await redis.use((client) => client.zincrby(redis.keys.managers, -65_000, 'm1'));

    const runners = (await read()).leases.filter(({ service }) => service === 'agent-runner');
    expect(runners).toEqual([
      { service: 'agent-runner', processId: 'r1', held: false, renewedMsAgo: expect.any(Number) },
    ]);
    expect(Math.round((runners[0]?.renewedMsAgo ?? 0) / 10_000)).toBe(4);
    expect((await read()).leases.some(({ processId }) => processId === 'm1')).toBe(true);
    await redis.use((client) => client.zincrby(redis.keys.managers, -10_000, 'm1'));
    expect((await read()).leases.some(({ processId }) => processId === 'm1')).toBe(false);
  });

  test('a process that released its lease is not listed', async () => {
    const runners = await openAll();
    await runners.release('r1');
    await redisSandboxRegistry(store.redis).releaseManager('m1');

    expect((await read()).leases.map(({ processId }) => processId)).toEqual(['p1', 'w1']);
  });

  test('reads a bounded number of leases and says that there are more', async () => {
    const { redis } = store;
    const members = Array.from({ length: 501 }, (_, index) => [Date.now() + 60_000, `m${index}`]).flat();
    await redis.use((client) => client.zadd(redis.keys.managers, ...members));

    const { leases, isCut } = await read();
    expect([leases.length, isCut]).toEqual([500, true]);
  });
});
