import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Part } from '../bench.js';
import { type Budget, say } from '../report.js';
import { compareCalls, type Operation, OPERATIONS } from './calls-cost.js';
import type { ManyFilesCost, RefreshCost } from './files-cost.js';

const WHAT: Readonly<Record<Operation, string>> = {
  exec: 'exec of true',
  write: 'write of 1 MiB',
  read: 'read of 1 MiB',
};

/**
 * What publishing and fetching files of threads costs a machine.
 *
 * @param before folder of a built checkout of an earlier version, with whose calls on a volume those of this one are compared
 */
export const files =
  (before: string | undefined): Part =>
  async ({ times }) => {
    say();
    say('Files in an object store, which is a folder on the same disk; p50');
    // Before tens of thousands of files are removed: see `refreshes`.
    const calls = await callBudgets(times(150), before);
    const refreshed = await measuredAside<RefreshCost>('refresh', Math.max(3, times(4)));
    const cost = await measuredAside<ManyFilesCost>('many', times(20));
    const row = (what: string, ms: number): void => say(`  ${what.padEnd(52)} ${ms.toFixed(1).padStart(8)} ms`);
    row('first publication of 20,000 small files', cost.firstPublishMs);
    row('publication when one of them has changed', cost.publishOneMs);
    row('the same when none has', cost.publishNoneMs);
    row('list of a directory of that tree, at a gateway', cost.listMs);
    row('50 MB in 1,000 files to an empty machine', refreshed.refreshMs);
    row('the same files written with nothing else', refreshed.plainMs);
    return [
      ...calls,
      { what: 'publication of one changed file of 20,000', value: cost.publishOneMs, unit: 'ms', atMost: 50 },
      { what: '50 MB in 1,000 files to an empty machine', value: refreshed.refreshMs, unit: 'ms', atMost: 1_000 },
    ];
  };

const COST_TIMEOUT_MS = 600_000;

/** Measured in a process of its own: that of the bench is many times as large as a manager, and starts programs as much slower. */
async function measuredAside<Cost>(which: 'many' | 'refresh', rounds: number): Promise<Cost> {
  const args = ['--max-semi-space-size=64', join(__dirname, 'files-cost-process.js'), which, String(rounds)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: COST_TIMEOUT_MS });
  return JSON.parse(stdout) as Cost;
}

async function callBudgets(repeats: number, before: string | undefined): Promise<readonly Budget[]> {
  const calls = await compareCalls(repeats, before);
  if (typeof calls === 'string') {
    say(`  calls of sandboxes: not measured, ${calls}`);
    return [];
  }
  const systems = before === undefined ? (['volume', 'stored'] as const) : (['before', 'volume', 'stored'] as const);
  for (const operation of OPERATIONS) {
    const each = systems.map((system) => `${system} ${calls.medianMs(operation, system).toFixed(1)} ms`);
    say(
      `  ${WHAT[operation].padEnd(52)} ${each.join(', ')}; ${calls.ratio(operation, 'volume').toFixed(2)} × the volume`,
    );
  }
  const to = before === undefined ? 'that on a volume' : 'that of the earlier build on a volume';
  const times = (operation: Operation): Budget => ({
    what: `${WHAT[operation]}, times ${to}`,
    value: calls.ratio(operation, 'before'),
    unit: '',
    atMost: 1.1,
  });
  return [
    { what: `${WHAT.exec}, over ${to}`, value: calls.beyondMs('exec', 'before'), unit: 'ms', atMost: 3 },
    times('write'),
    times('read'),
  ];
}
