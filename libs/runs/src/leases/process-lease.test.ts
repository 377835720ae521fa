import { UnavailableError } from '@caribou/contracts';
import { type Clock, silentLogger } from '@caribou/core';
import type { ProcessRegistry, ProcessRenewal } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import { ProcessLease } from './process-lease.js';

/** A clock whose sleeps end when the test says so. */
class ManualClock implements Clock {
  ms = 1_000;
  private wake: (() => void) | undefined;
  now = (): number => this.ms;
  monotonicMs = (): number => this.ms;
  sleep = (_ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      this.wake = resolve;
      signal?.addEventListener('abort', () => reject(signal.reason as Error));
    });
  get isAsleep(): boolean {
    return this.wake !== undefined;
  }
  advance(ms: number): void {
    this.ms += ms;
    const wake = this.wake;
    this.wake = undefined;
    wake?.();
  }
}

async function fixture(registry: Partial<ProcessRegistry> = {}) {
  const clock = new ManualClock();
  const deaths: ProcessRenewal[] = [];
  const released: string[] = [];
  const lease = new ProcessLease({
    owner: { processId: 'p1', leaseMs: 4_000 },
    registry: {
      renew: () => Promise.resolve({ living: 1, dead: [] }),
      release: (processId) => Promise.resolve(void released.push(processId)),
      ...registry,
    },
    renewMs: 500,
    clock,
    logger: silentLogger,
    onDeaths: (renewal) => Promise.resolve(void deaths.push(renewal)),
  });
  const asleep = () => waitFor(() => clock.isAsleep, { what: 'the pause between two renewals' });
  lease.start();
  await asleep();
  return { lease, clock, deaths, released, asleep };
}

describe(ProcessLease, () => {
  test('P1 is held for nine tenths of its time after the last renewal, without a timer', async () => {
    const { lease, clock } = await fixture();

    clock.ms += 3_599;
    expect(lease.isHeld()).toBe(true);
    clock.ms += 1;
    expect(lease.isHeld()).toBe(false);
    await lease.stop();
  });

  test('P1 counts from before the renewal was sent', async () => {
    const clocks: { ms: number }[] = [];
    const { lease, clock, asleep } = await fixture({
      renew: () => {
        for (const slow of clocks) slow.ms += 3_000;
        return Promise.resolve({ living: 1, dead: [] });
      },
    });
    clocks.push(clock);
    clock.advance(500);
    await asleep();

    clock.ms += 599;
    expect(lease.isHeld()).toBe(true);
    clock.ms += 1;
    expect(lease.isHeld()).toBe(false);
    await lease.stop();
  });

  test('is renewed again after the store was unavailable', async () => {
    let failing = true;
    const { lease, clock, asleep } = await fixture({
      renew: () => (failing ? Promise.reject(new UnavailableError('away')) : Promise.resolve({ living: 1, dead: [] })),
    });
    expect(lease.isHeld()).toBe(false);

    failing = false;
    clock.advance(500);
    await asleep();

    expect(lease.isHeld()).toBe(true);
    await lease.stop();
  });

  test('passes on which processes died, and is released at the end', async () => {
    const renewal = { living: 2, dead: ['p0'] };
    const { lease, deaths, released } = await fixture({ renew: () => Promise.resolve(renewal) });

    expect(deaths).toEqual([renewal]);
    await lease.stop();

    expect(released).toEqual(['p1']);
    expect(lease.isHeld()).toBe(false);
  });
});
