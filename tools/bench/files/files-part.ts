import type { Part } from '../bench.js';
import { say } from '../report.js';
import { filesCost } from './files-cost.js';

/** What publishing and fetching files of threads costs a machine. */
export const files: Part = async ({ times }) => {
  const cost = await filesCost(times(20));
  const row = (what: string, ms: number): void => say(`  ${what.padEnd(52)} ${ms.toFixed(1).padStart(8)} ms`);
  say();
  say('Files in an object store, which is a folder on the same disk; p50');
  row('first publication of 20,000 small files', cost.firstPublishMs);
  row('publication when one of them has changed', cost.publishOneMs);
  row('the same when none has', cost.publishNoneMs);
  row('list of a directory of that tree, at a gateway', cost.listMs);
  row('50 MB in 1,000 files to an empty machine', cost.refreshMs);
  return [
    { what: 'publication of one changed file of 20,000', value: cost.publishOneMs, unit: 'ms', atMost: 50 },
    { what: '50 MB in 1,000 files to an empty machine', value: cost.refreshMs, unit: 'ms', atMost: 1_000 },
  ];
};
