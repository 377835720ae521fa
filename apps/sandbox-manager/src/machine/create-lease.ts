import { uptime } from 'node:os';
import type { Config } from '@caribou/config';
import type { LeaseGuard } from '@caribou/sandbox';
import { ManagerLease, type ManagerLeaseOptions } from './manager-lease.js';

/** When the guard of the lease acts, after this manager should have: a part of the lease's time. */
const GUARD_PART = 0.05;

type LeaseParts = Omit<ManagerLeaseOptions, 'leaseMs' | 'renewMs' | 'uptimeMs' | 'onProlonged'> & {
  readonly guard: LeaseGuard;
};

/** The lease of this process, whose guard ends its commands when the lease is over. */
export function createLease({ clocks }: Config, { guard, ...parts }: LeaseParts): ManagerLease {
  const { managerLeaseMs: leaseMs, managerRenewMs: renewMs } = clocks;
  return new ManagerLease({
    ...parts,
    leaseMs,
    renewMs,
    uptimeMs: () => uptime() * 1000,
    onProlonged: (untilMs) => guard.extend(untilMs + GUARD_PART * leaseMs),
  });
}
