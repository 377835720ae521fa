import { type Clock, silentLogger } from '@caribou/core';
import { ManagerLease } from './manager-lease.js';
import { InMemoryRegistry } from './testing/in-memory-registry.js';
import { until } from './testing/test-manager.js';

describe('ManagerLease', () => {
  const time = { ms: 0 };
  const clock: Clock = {
    now: () => time.ms,
    monotonicMs: () => time.ms,
    sleep: (_, signal) =>
      signal?.aborted === true ? Promise.reject(new Error('stopped')) : new Promise((resolve) => setImmediate(resolve)),
  };
  let registry: InMemoryRegistry;
  let renewals: boolean[];
  let lease: ManagerLease;

  beforeEach(() => {
    time.ms = 0;
    registry = new InMemoryRegistry();
    renewals = [];
    const onRenewed = (lapsed: boolean): Promise<void> => {
      renewals.push(lapsed);
      return Promise.resolve();
    };
    lease = new ManagerLease({
      managerId: 'm1',
      registry,
      leaseMs: 10_000,
      renewMs: 3_000,
      clock,
      logger: silentLogger,
      onRenewed,
    });
  });
  afterEach(async () => {
    registry.away = false;
    await lease.stop();
  });

  test('is held from the first renewal on, and given up by stop', async () => {
    expect(lease.isHeld()).toBe(false);
    lease.start();
    await until(() => renewals.length > 0);
    expect([lease.isHeld(), registry.alive.has('m1')]).toEqual([true, true]);

    await lease.stop();

    expect([lease.isHeld(), registry.alive.has('m1')]).toEqual([false, false]);
  });

  test('is not held once its time has passed without a renewal, and is again after one', async () => {
    lease.start();
    await until(() => renewals.length > 0);
    registry.away = true;
    const before = renewals.length;
    await until(() => true);
    time.ms = 10_000;
    expect(lease.isHeld()).toBe(false);

    registry.away = false;
    await until(() => renewals.length > before + 1);

    expect(lease.isHeld()).toBe(true);
  });

  test('says when it had lapsed', async () => {
    lease.start();
    await until(() => renewals.length > 0);
    registry.alive.delete('m1');

    await until(() => renewals.includes(true));

    expect(renewals.filter((lapsed) => lapsed)).toHaveLength(1);
  });
});
