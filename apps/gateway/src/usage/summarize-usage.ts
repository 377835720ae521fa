import { InvalidRequestError, type UsageEntry, type UsageGroup, type UsageReply } from '@caribou/contracts';
import { addCounts, type LedgerCounts, type LedgerRow, NO_COUNTS } from '@caribou/state';

/** Maximum entries of a reply. */
const MAX_ENTRIES = 10_000;
const NANO = 1e9;

/**
 * Sums the rows of the ledger by the groups, and all of them.
 *
 * @throws {InvalidRequestError} when there are too many groups
 */
export function summarizeUsage(
  rows: readonly LedgerRow[],
  groups: readonly UsageGroup[],
): Pick<UsageReply, 'series' | 'totals'> {
  const sums = new Map<string, { readonly names: Names; counts: LedgerCounts }>();
  let totals = NO_COUNTS;
  for (const row of rows) {
    const names = namesOf(row, groups);
    const key = JSON.stringify(groups.map((group) => names[group] ?? ''));
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, { names, counts: addCounts(NO_COUNTS, row) });
    else sum.counts = addCounts(sum.counts, row);
    totals = addCounts(totals, row);
  }
  if (sums.size > MAX_ENTRIES)
    throw new InvalidRequestError(`group: more than ${MAX_ENTRIES} entries: group by less, or ask for fewer days`);
  const sorted = [...sums].sort(([one], [other]) => (one < other ? -1 : 1));
  return {
    series: sorted.map(([, { names, counts }]): UsageEntry => ({ ...names, ...shown(counts) })),
    totals: shown(totals),
  };
}

type Names = Pick<UsageEntry, UsageGroup>;

function namesOf({ day, userId, apiKey, agent, model }: LedgerRow, groups: readonly UsageGroup[]): Names {
  const all = { day, user: userId, key: apiKey === '' ? null : apiKey, agent, model };
  return Object.fromEntries(groups.map((group) => [group, all[group]]));
}

const shown = ({ cost, ...counts }: LedgerCounts): LedgerCounts => ({ ...counts, cost: cost / NANO });
