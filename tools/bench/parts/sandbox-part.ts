import type { SandboxDriverKind } from '@caribou/contracts';
import type { Bench } from '../bench.js';
import { type Fleet, startFleet } from '../fleet.js';
import { type Budget, say, saySandbox } from '../report.js';
import { sandboxCost, sandboxMissing } from './sandbox-cost.js';

/** Measures on this fleet, and on a separate one with containers where a Docker engine exists. */
export async function sandbox({ fleet, times }: Bench): Promise<readonly Budget[]> {
  const budgets = await sandboxOf('bwrap', fleet, times(60));
  const missing = await sandboxMissing('docker', fleet.homeDir);
  if (missing !== null) {
    say();
    say(`Sandbox (docker): not measured, ${missing}`);
    return budgets;
  }
  const withDocker = await startFleet({ sandboxDriver: 'docker' });
  try {
    return [...budgets, ...(await sandboxOf('docker', withDocker, times(60)))];
  } finally {
    await withDocker.stop();
  }
}

async function sandboxOf(kind: SandboxDriverKind, fleet: Fleet, repeats: number): Promise<readonly Budget[]> {
  say();
  const missing = await sandboxMissing(kind, fleet.homeDir);
  say(`Sandbox (${kind})${missing === null ? '' : `: not measured, ${missing}`}`);
  if (missing !== null) return [];
  const cost = await sandboxCost(fleet, kind, repeats);
  saySandbox(cost);
  const value = cost.managerExec.p50 - cost.driverExec.p50;
  return [
    { what: `${kind}: exec over the driver's own, p50`, value, unit: 'ms', atMost: 5 },
    { what: `${kind}: warm acquire, p99`, value: cost.warmAcquire.p99, unit: 'ms', atMost: 20 },
    { what: `${kind}: failures of ${cost.crowd.sandboxes} at once`, value: cost.crowd.failures, unit: '', atMost: 0 },
  ];
}
