import type { Part } from '../bench.js';
import { type Budget, say } from '../report.js';
import { compareCalls } from './calls-cost.js';
import { filesCost } from './files-cost.js';

/** What publishing and fetching files of threads costs a machine. */
export const files: Part = async ({ times }) => {
  say();
  say('Files in an object store, which is a folder on the same disk; p50');
  // Before tens of thousands of files are removed: see `refreshes`.
  const calls = await callBudgets(times(60));
  const cost = await filesCost(times(20));
  const row = (what: string, ms: number): void => say(`  ${what.padEnd(52)} ${ms.toFixed(1).padStart(8)} ms`);
  row('first publication of 20,000 small files', cost.firstPublishMs);
  row('publication when one of them has changed', cost.publishOneMs);
  row('the same when none has', cost.publishNoneMs);
  row('list of a directory of that tree, at a gateway', cost.listMs);
  row('50 MB in 1,000 files to an empty machine', cost.refreshMs);
  row('the same files written with nothing else', cost.plainMs);
  return [
    ...calls,
    { what: 'publication of one changed file of 20,000', value: cost.publishOneMs, unit: 'ms', atMost: 50 },
    { what: '50 MB in 1,000 files to an empty machine', value: cost.refreshMs, unit: 'ms', atMost: 1_000 },
  ];
};

async function callBudgets(repeats: number): Promise<readonly Budget[]> {
  const calls = await compareCalls(repeats);
  if (typeof calls === 'string') {
    say(`  calls of sandboxes: not measured, ${calls}`);
    return [];
  }
  const { volume, stored } = calls;
  const row = (what: string, before: number, after: number): void =>
    say(`  ${what.padEnd(52)} ${before.toFixed(1).padStart(8)} ms on a volume, ${after.toFixed(1)} ms stored`);
  row('exec of true', volume.execMs, stored.execMs);
  row('write of 1 MiB', volume.writeMs, stored.writeMs);
  row('read of 1 MiB', volume.readMs, stored.readMs);
  return [
    { what: 'exec of true, over that on a volume', value: stored.execMs - volume.execMs, unit: 'ms', atMost: 3 },
    { what: 'write of 1 MiB, times that on a volume', value: stored.writeMs / volume.writeMs, unit: '', atMost: 1.1 },
    { what: 'read of 1 MiB, times that on a volume', value: stored.readMs / volume.readMs, unit: '', atMost: 1.1 },
  ];
}
