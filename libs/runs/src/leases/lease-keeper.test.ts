import { FencedError, UnavailableError } from '@caribou/contracts';
import { type Clock, RunCancelled, RunLost, silentLogger } from '@caribou/core';
import { type LeaseClocks, LeaseKeeper } from './lease-keeper.js';

const clocks = { leaseMs: 10_000, renewMs: 3_600_000 };

class FakeClock implements Clock {
  ms = 0;
  now = (): number => this.ms;
  monotonicMs = (): number => this.ms;
  sleep = (): Promise<void> => Promise.resolve();
}

function keeperWith(
  renew: () => Promise<{ cancel: 'interrupt' | 'rollback' | null }>,
  takenMs = 0,
  keeperClocks: LeaseClocks = clocks,
) {
  const clock = new FakeClock();
  let renewed = 0;
  const keeper = new LeaseKeeper({
    renew: async () => {
      const result = await renew();
      renewed += 1;
      return result;
    },
    takenMs,
    clocks: keeperClocks,
    clock,
    logger: silentLogger,
  });
  return { keeper, clock, renewedCount: () => renewed };
}

describe(LeaseKeeper, () => {
  test('L1 the own deadline counts from the moment the renewal was sent', async () => {
    const { keeper, clock } = keeperWith(async () => {
      clock.ms += 4_000;
      return { cancel: null };
    });
    clock.ms = 5_000;

    await keeper.renewNow();
    keeper.stop();

    expect(keeper.remainingMs).toBe(6_000);
  });

  test('L1 the first deadline counts from the moment the lease was asked for', () => {
    const { keeper, clock } = keeperWith(() => Promise.reject(new Error('not renewed here')), -3_000);
    keeper.stop();
    clock.ms = 1_000;
    expect(keeper.remainingMs).toBe(6_000);
  });

  test('L2 a fenced renewal is a loss, and the wake is not prolonged', async () => {
    const { keeper, renewedCount } = keeperWith(() => Promise.reject(new FencedError('absent')));

    await keeper.renewNow();

    expect(keeper.signal.reason).toBeInstanceOf(RunLost);
    expect(renewedCount()).toBe(0);
  });

  test('L2 past the own deadline the run is lost without asking anybody', async () => {
    let asked = 0;
    const { keeper, clock } = keeperWith(async () => {
      asked += 1;
      return { cancel: null };
    });
    clock.ms = 10_000;

    await keeper.renewNow();

    expect(keeper.lost).toBe(true);
    expect(asked).toBe(0);
  });

  test('L2 a lease that lapsed while Redis did not answer is held for the time of an outage', async () => {
    let isAway = true;
    const renew = () => (isAway ? Promise.reject(new UnavailableError('away')) : Promise.resolve({ cancel: null }));
    const { keeper, clock } = keeperWith(renew, 0, { ...clocks, outageMs: 60_000 });
    clock.ms = 69_999;

    await keeper.renewNow();
    expect(keeper.lost).toBe(false);
    isAway = false;
    await keeper.renewNow();
    expect(keeper.remainingMs).toBe(70_000);
    isAway = true;
    clock.ms += 70_000;
    await keeper.renewNow();

    expect(keeper.lost).toBe(true);
  });

  test('a renewal that Redis did not answer leaves the lease and its deadline as they were', async () => {
    const { keeper, clock } = keeperWith(() => Promise.reject(new UnavailableError('Redis is away')));
    clock.ms = 2_000;

    await keeper.renewNow();
    keeper.stop();

    expect(keeper.signal.aborted).toBe(false);
    expect(keeper.remainingMs).toBe(8_000);
  });

  test('L3 L4 a cancel aborts with its action and renewal goes on', async () => {
    const { keeper, renewedCount } = keeperWith(async () => ({ cancel: 'rollback' as const }));

    await keeper.renewNow();
    await keeper.renewNow();
    keeper.stop();

    expect(keeper.signal.reason).toEqual(new RunCancelled('rollback'));
    expect(keeper.lost).toBe(false);
    expect(renewedCount()).toBe(2);
  });
});
