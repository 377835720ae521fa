import { startFleet } from '../fleet.js';
import { sandboxCost, type SandboxCost, sandboxMissing } from '../parts/sandbox-cost.js';
import { median } from '../sample.js';

/** Medians of calls of a sandbox-manager, in milliseconds. */
export interface CallsCost {
  readonly execMs: number;
  readonly writeMs: number;
  readonly readMs: number;
}

export interface ComparedCalls {
  readonly volume: CallsCost;
  readonly stored: CallsCost;
}

const ROUNDS = 3;

const mediansOf = (costs: readonly SandboxCost[]): CallsCost => ({
  execMs: median(costs.map(({ managerExec }) => managerExec.p50)),
  writeMs: median(costs.map(({ write }) => write.p50)),
  readMs: median(costs.map(({ read }) => read.p50)),
});

/**
 * What calls of a sandbox cost when files lie in an object store, beside those on a data volume: two whole systems take turns.
 *
 * @returns the reason when this machine has no bwrap
 */
export async function compareCalls(repeats: number): Promise<ComparedCalls | string> {
  const onVolume = await startFleet();
  try {
    const missing = await sandboxMissing('bwrap', onVolume.homeDir);
    if (missing !== null) return missing;
    const inStore = await startFleet({ config: 'files: {}\n' });
    try {
      const costs: { readonly volume: SandboxCost; readonly stored: SandboxCost }[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        costs.push({
          volume: await sandboxCost(onVolume, 'bwrap', repeats),
          stored: await sandboxCost(inStore, 'bwrap', repeats),
        });
      }
      return {
        volume: mediansOf(costs.map(({ volume }) => volume)),
        stored: mediansOf(costs.map(({ stored }) => stored)),
      };
    } finally {
      await inStore.stop();
    }
  } finally {
    await onVolume.stop();
  }
}
