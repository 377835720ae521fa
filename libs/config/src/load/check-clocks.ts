import { camelKeys } from '../common/camel-keys.js';
import type { Findings } from '../common/findings.js';
import type { z } from 'zod';
import type { LimitsFile } from '../schema/file-schema.js';
import type { ClocksFile } from '../schema/timers-schema.js';
import { drainOf } from '../settings/drains.js';

type Clocks = z.output<typeof ClocksFile>;

/**
 * Returns the clocks when they fit each other; what does not is added to the findings. A lease has to have time for two renewals before it
 * lapses, as one lost packet would cause a takeover otherwise.
 */
export function checkClocks(clocks: Clocks, limits: z.output<typeof LimitsFile>, findings: Findings): Clocks {
  const { faults } = findings;
  const third = (renewMs: number, leaseMs: number) => renewMs * 3 <= leaseMs;
  if (!third(clocks.renew_ms, clocks.lease_ms)) faults.push('clocks.renew_ms: must be at most a third of lease_ms');
  if (clocks.process_renew_ms * 4 > clocks.process_lease_ms) {
    faults.push('clocks.process_renew_ms: must be at most a quarter of process_lease_ms');
  }
  if (!third(clocks.manager_renew_ms, clocks.manager_lease_ms)) {
    faults.push('clocks.manager_renew_ms: must be at most a third of manager_lease_ms');
  }
  if (clocks.renew_ms >= clocks.ack_wait_ms) faults.push('clocks.renew_ms: must be less than ack_wait_ms');
  warnAboutShortDrain(clocks, limits, findings);
  return clocks;
}

/** Only where it is set: a manager without a drain of its own is stopped by a person who waits, and not by an orchestrator. */
function warnAboutShortDrain(clocks: Clocks, limits: z.output<typeof LimitsFile>, { warnings }: Findings): void {
  if (clocks.manager_drain_ms === undefined) return;
  const { workMs } = drainOf(camelKeys(clocks), 'sandbox-manager');
  const longestMs = limits.command_timeout_ms;
  if (workMs >= longestMs) return;
  warnings.push(
    `clocks.manager_drain_ms: a stopping sandbox-manager ends commands after ${workMs} ms, and sandbox.limits.command_timeout_ms allows ${longestMs}; set it to ${longestMs + 60_000} or more`,
  );
}
