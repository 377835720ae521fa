import { type Clock, silentLogger } from '@caribou/core';
import { type SandboxInfo, chooseAmong } from '@caribou/sandbox';
import { SandboxReaper } from './sandbox-reaper.js';
import { FakeDriver } from '../testing/fake-driver.js';
import { InMemoryRegistry } from '../testing/in-memory-registry.js';
import { type TestManager, testManager, thread, until } from '../testing/test-manager.js';

const leftBy = (managerId: string, threadId = 't1'): SandboxInfo => ({
  managerId,
  userId: 'default',
  threadId,
  sandboxId: `sandbox-${threadId}`,
  running: true,
  instance: `${managerId}/${threadId}`,
});

describe('SandboxReaper', () => {
  const time = { ms: 0 };
  const clock: Clock = {
    now: () => time.ms,
    monotonicMs: () => time.ms,
    sleep: (_, signal) =>
      signal?.aborted === true ? Promise.reject(new Error('stopped')) : new Promise((resolve) => setImmediate(resolve)),
  };
  let registry: InMemoryRegistry;
  let driver: FakeDriver;
  let manager: TestManager;
  let reaper: SandboxReaper;

  const reapAt = async (ms: number): Promise<readonly string[]> => {
    time.ms = ms;
    await reaper.reap();
    return driver.removedInstances;
  };

  beforeEach(() => {
    time.ms = 0;
    registry = new InMemoryRegistry();
    registry.epochs.set('default/t1', 1);
    driver = new FakeDriver();
    manager = testManager('m1', registry, driver, clock);
    reaper = new SandboxReaper({
      managerId: 'm1',
      registry,
      pool: manager.pool,
      clock,
      logger: silentLogger,
      drivers: chooseAmong([driver], 'auto', clock),
      reapMs: 1000,
      graceMs: 30_000,
    });
  });

  test('never touches a sandbox of another manager that lives, however long it is there (R1)', async () => {
    registry.alive.add('m2');
    driver.listed.add(leftBy('m2'));

    await reapAt(0);
    expect(await reapAt(10_000_000)).toEqual([]);
  });

  test('removes what a dead manager left and no thread is bound to, after the grace (R2)', async () => {
    driver.listed.add(leftBy('dead'));

    expect(await reapAt(0)).toEqual([]);
    expect(await reapAt(29_999)).toEqual([]);
    expect(await reapAt(30_000)).toEqual(['dead/t1']);
  });

  test('removes what a dead manager left of a thread that another one has taken over (R2)', async () => {
    await manager.pool.acquire(thread, 1);
    driver.listed.add(leftBy('dead')).add(leftBy('m1'));

    await reapAt(0);
    expect(await reapAt(30_000)).toEqual(['dead/t1']);
  });

  test('removes what a dead manager left of a thread that is still bound to it, and counts only without a break (R2)', async () => {
    registry.bindings.set('default/t1', { managerId: 'dead', sandboxId: 'sandbox-t1', driver: 'docker' });
    driver.listed.add(leftBy('dead'));

    await reapAt(0);
    expect(await reapAt(29_999)).toEqual([]);
    registry.alive.add('dead');
    await reapAt(30_000);
    registry.alive.delete('dead');
    expect(await reapAt(30_001)).toEqual([]);
    expect(await reapAt(60_001)).toEqual(['dead/t1']);
  });

  test('a manager that stops removes what dead ones left, and nothing of those that live (R1, R2)', async () => {
    registry.alive.add('m2');
    driver.listed.add(leftBy('dead')).add(leftBy('m2', 't2'));

    await reaper.removeLeftovers();
    expect(driver.removedInstances).toEqual(['dead/t1']);

    driver.listed.add(leftBy('dead', 't3'));
    registry.away = true;
    await reaper.removeLeftovers();
    expect(driver.removedInstances).toEqual(['dead/t1']);
  });

  test('removes an own sandbox only when the pool does not hold it (R1)', async () => {
    await manager.pool.acquire(thread, 1);
    driver.listed.add(leftBy('m1')).add(leftBy('m1', 't2'));

    await reapAt(0);
    expect(await reapAt(30_000)).toEqual(['m1/t2']);
  });

  test('decides nothing while the registry is away, and goes on afterwards (R4)', async () => {
    driver.listed.add(leftBy('dead'));
    await reapAt(0);
    registry.away = true;
    await expect(reapAt(40_000)).rejects.toMatchObject({ code: 'unavailable' });
    registry.away = false;

    expect(await reapAt(50_000)).toEqual([]);
    expect(await reapAt(80_000)).toEqual(['dead/t1']);
  });

  test('looks again and again until it is stopped, whatever a look throws', async () => {
    const list = jest.spyOn(driver, 'list').mockRejectedValueOnce(new Error('no such folder'));
    reaper.sweeps.start();
    await until(() => list.mock.calls.length > 2);
    await reaper.sweeps.stop();
    const looks = list.mock.calls.length;
    await new Promise((resolve) => setImmediate(resolve));

    expect(list.mock.calls).toHaveLength(looks);
  });
});
