import { type Clock, silentLogger } from '@caribou/core';
import { ManagerLease } from './manager-lease.js';
import { InMemoryRegistry } from '../testing/in-memory-registry.js';
import { until } from '../testing/test-manager.js';

describe('ManagerLease', () => {
  const time = { ms: 0 };
  const pauses: number[] = [];
  const clock: Clock = {
    now: () => time.ms,
    monotonicMs: () => time.ms,
    sleep: (ms, signal) => {
      pauses.push(ms);
      return signal?.aborted === true
        ? Promise.reject(new Error('stopped'))
        : new Promise((resolve) => setImmediate(resolve));
    },
  };
  let registry: InMemoryRegistry;
  let renewals: boolean[];
  let lapses: number[];
  let prolonged: number[];
  let lease: ManagerLease;

  beforeEach(() => {
    time.ms = 0;
    pauses.splice(0);
    registry = new InMemoryRegistry();
    renewals = [];
    lapses = [];
    prolonged = [];
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
      uptimeMs: () => time.ms,
      logger: silentLogger,
      onProlonged: (untilMs) => prolonged.push(untilMs),
      mayHold: () => Promise.resolve(),
      onRenewed,
      onLapsed: () => lapses.push(time.ms),
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

  test('is renewed soon after a renewal that failed, so that a stall of the store costs one attempt only', async () => {
    lease.start();
    await until(() => renewals.length > 0);
    expect(pauses).not.toContain(300);
    registry.away = true;
    await until(() => pauses.includes(300));
  });

  test('is over for its holder before the lease itself is, once per lapse, also while a renewal hangs', async () => {
    lease.start();
    await until(() => renewals.length > 0);
    let answer: () => void = () => undefined;
    const late = new Promise<{ lapsed: boolean }>((resolve) => {
      answer = () => resolve({ lapsed: false });
    });
    const hanging = jest.spyOn(registry, 'renewManager').mockReturnValue(late);
    await until(() => hanging.mock.calls.length > 0);
    time.ms = 8_999;
    await new Promise((resolve) => setImmediate(resolve));
    expect([lease.isHeld(), lapses]).toEqual([true, []]);

    time.ms = 9_000;
    await until(() => lapses.length > 0);
    await new Promise((resolve) => setImmediate(resolve));

    expect([lease.isHeld(), lapses]).toEqual([false, [9_000]]);
    answer();
  });

  test('says when it had lapsed', async () => {
    lease.start();
    await until(() => renewals.length > 0);
    registry.alive.delete('m1');

    await until(() => renewals.includes(true));

    expect(renewals.filter((lapsed) => lapsed)).toHaveLength(1);
  });

  test('whoever asks first after a pause has everything ended, and a renewal that comes in between undoes nothing', async () => {
    lease.start();
    await until(() => renewals.length > 0);
    let answer: () => void = () => undefined;
    const late = new Promise<{ lapsed: boolean }>((resolve) => {
      answer = () => resolve({ lapsed: false });
    });
    const hanging = jest.spyOn(registry, 'renewManager').mockReturnValue(late);
    await until(() => hanging.mock.calls.length > 0);
    hanging.mockRestore();
    time.ms = 20_000;

    const asked = lease.isHeld();
    answer();
    await until(() => lease.isHeld());

    expect([asked, lapses]).toEqual([false, [20_000]]);
  });

  test('tells its end whenever that changes', async () => {
    lease.start();
    await until(() => renewals.length > 1);
    time.ms = 2_000;
    await until(() => prolonged.at(-1) !== 9_000);

    expect(prolonged.at(-1)).toBe(11_000);
  });
});
