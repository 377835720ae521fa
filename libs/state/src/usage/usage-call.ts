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
    ...(ledger === undefined || rows.length === 0 ? {} : { ledger: ledgerParams(ledger, rows) }),
    turns,
    input: sumOf(calls, ({ inputTokens }) => wholeTokens(inputTokens)),
    output: sumOf(calls, ({ outputTokens }) => wholeTokens(outputTokens)),
    callers: tokensBy(calls, ({ caller }) => caller),
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
  ...omitUndefined({ budgets: budgetParams(budgets) }),
});

/** Limits in billionths of the currency; undefined without any. */
export const budgetParams = (budgets: LedgerSettings['budgets']): Readonly<Record<string, number>> | undefined => {
  const { user, key, warnShare } = budgets;
  if (user === null && key === null) return undefined;
  const nano = (limit: number | null): number | undefined => (limit === null ? undefined : Math.round(limit * 1e9));
  return { warn: warnShare, ...omitUndefined({ user: nano(user), key: nano(key) }) };
};

/** Parameters of a script that looks at the budgets; none without budgets. */
export function budgetCheck({ budgets, prefix }: LedgerSettings): Readonly<Record<string, unknown>> {
  const limits = budgetParams(budgets);
  return limits === undefined ? {} : { budgets: limits, usage_prefix: prefix };
}

const DAY_MS = 86_400_000;

const tokensBy = (calls: readonly CallUsage[], nameOf: (call: CallUsage) => string): [name: string, tokens: number][] =>
  [...new Set(calls.map(nameOf))].map((name) => [
    name,
    sumOf(
      calls.filter((call) => nameOf(call) === name),
      (call) => wholeTokens(call.inputTokens) + wholeTokens(call.outputTokens),
    ),
  ]);

/** `[model, input, output, cached, written, reasoning]`: the last three are parts of the first two. */
function tokensByModel(calls: readonly CallUsage[]): [model: string, ...tokens: number[]][] {
  const nameOf = ({ model }: CallUsage): string => model.slice(0, MAX_NAME);
  return [...new Set(calls.map(nameOf))].map((name) => {
    const billed = calls.filter((call) => nameOf(call) === name).map(billedTokens);
    const sum = (part: keyof BilledTokens): number => billed.reduce((total, tokens) => total + tokens[part], 0);
    return [name, sum('input'), sum('output'), sum('cached'), sum('written'), sum('reasoning')];
  });
}

const sumOf = (calls: readonly CallUsage[], tokensOf: (call: CallUsage) => number): number =>
  calls.reduce((sum, call) => sum + tokensOf(call), 0);
