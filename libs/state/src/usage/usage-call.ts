import { omitUndefined } from '@caribou/contracts';
import { type BilledTokens, billedTokens, type CallUsage, type TurnUsage, wholeTokens } from '@caribou/core';
import { ledgerRows } from './ledger-rows.js';
import type { LedgerSettings } from '../redis/store-settings.js';

/** Longest name a model is counted under, in UTF-16 code units. */
const MAX_NAME = 200;

/** Parameter `usage` of `includes/usage.lua`. */
export function usageParams({ turns, calls }: TurnUsage, ledger?: LedgerSettings): Readonly<Record<string, unknown>> {
  const rows = ledger === undefined ? [] : ledgerRows(calls, ledger.prices);
  return {
    ledger: ledger === undefined || rows.length === 0 ? undefined : ledgerParams(ledger, rows),
    turns,
    input: sumOf(calls, ({ inputTokens }) => wholeTokens(inputTokens)),
    output: sumOf(calls, ({ outputTokens }) => wholeTokens(outputTokens)),
    callers: tokensByCaller(calls),
    models: tokensByModel(calls),
  };
}

/** Parameters of `usage/ledger.lua`. */
export const ledgerParams = (
  { prefix, retentionDays, budgets }: LedgerSettings,
  rows: ReturnType<typeof ledgerRows>,
): Readonly<Record<string, unknown>> => ({
  prefix,
  ttl_ms: retentionDays * DAY_MS,
  rows: rows.map(([model, ...counts]) => [model.slice(0, MAX_NAME), ...counts]),
  budgets: budgetParams(budgets),
});

/** Limits in billionths of the currency; undefined without any. */
export const budgetParams = (budgets: LedgerSettings['budgets']): Readonly<Record<string, number>> | undefined => {
  const { user, key, warnShare } = budgets;
  if (user === null && key === null) return undefined;
  const nano = (limit: number | null): number | undefined => (limit === null ? undefined : Math.round(limit * 1e9));
  return { warn: warnShare, ...omitUndefined({ user: nano(user), key: nano(key) }) };
};

/** Parameters of a script that looks at the budgets; none without budgets. */
export function budgetCheck({ budgets, prefix }: LedgerSettings) {
  const limits = budgetParams(budgets);
  return { budgets: limits, usage_prefix: limits === undefined ? undefined : prefix };
}

const DAY_MS = 86_400_000;

/** The calls by a name, in the order of the first call of each. */
function groupedBy(calls: readonly CallUsage[], nameOf: (call: CallUsage) => string): ReadonlyMap<string, CallUsage[]> {
  const groups = new Map<string, CallUsage[]>();
  for (const call of calls) {
    const name = nameOf(call);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [call]);
    else group.push(call);
  }
  return groups;
}

const tokensByCaller = (calls: readonly CallUsage[]): [name: string, tokens: number][] =>
  Array.from(
    groupedBy(calls, ({ caller }) => caller),
    ([name, group]) => [name, sumOf(group, (call) => wholeTokens(call.inputTokens) + wholeTokens(call.outputTokens))],
  );

/** `[model, input, output, cached, written, reasoning]`: the last three are parts of the first two. */
const tokensByModel = (calls: readonly CallUsage[]): [model: string, ...tokens: number[]][] =>
  Array.from(
    groupedBy(calls, ({ model }) => model.slice(0, MAX_NAME)),
    ([name, group]) => {
      const billed = group.map(billedTokens);
      const sum = (part: keyof BilledTokens): number => billed.reduce((total, tokens) => total + tokens[part], 0);
      return [name, sum('input'), sum('output'), sum('cached'), sum('written'), sum('reasoning')];
    },
  );

const sumOf = (calls: readonly CallUsage[], tokensOf: (call: CallUsage) => number): number =>
  calls.reduce((sum, call) => sum + tokensOf(call), 0);
