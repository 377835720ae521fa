import type { ModelPricing } from '@caribou/config';
import { billedTokens, type CallUsage, costOf } from '@caribou/core';
import type { LedgerCounts, Prices } from '../ports/usage-ledger.js';

/** The order of the counts in a row. */
const LEDGER_COUNTS = [
  ...(['calls', 'input_tokens', 'cached_input_tokens', 'cache_write_tokens'] as const),
  ...(['output_tokens', 'reasoning_tokens', 'cost'] as const),
] as const satisfies readonly (keyof LedgerCounts)[];

const NANO_PER_MILLIONTH = 1_000;
/** Sums of a day must stay safe integers: a thousand times this. */
const MAX_COST = 9e12;

/** The counts of a model's calls in a commit: `[model, …counts]` in the order of `LEDGER_COUNTS`. */
export function ledgerRows(
  calls: readonly CallUsage[],
  prices: Prices,
): readonly (readonly [model: string, ...counts: number[]])[] {
  const rows = new Map<string, LedgerCounts>();
  // Tasks enter their calls themselves, with each of their commits.
  for (const call of calls.filter(({ caller }) => caller !== 'subagent')) {
    const counts = countsOf(call, prices.get(call.model));
    const before = rows.get(call.model);
    rows.set(call.model, before === undefined ? counts : addCounts(before, counts));
  }
  return [...rows].map(([model, counts]) => [model, ...LEDGER_COUNTS.map((name) => counts[name])] as const);
}

export const addCounts = (one: LedgerCounts, other: LedgerCounts): LedgerCounts => ({
  calls: one.calls + other.calls,
  input_tokens: one.input_tokens + other.input_tokens,
  cached_input_tokens: one.cached_input_tokens + other.cached_input_tokens,
  cache_write_tokens: one.cache_write_tokens + other.cache_write_tokens,
  output_tokens: one.output_tokens + other.output_tokens,
  reasoning_tokens: one.reasoning_tokens + other.reasoning_tokens,
  cost: one.cost + other.cost,
});

export const NO_COUNTS: LedgerCounts = {
  ...{ calls: 0, input_tokens: 0, cached_input_tokens: 0, cache_write_tokens: 0 },
  ...{ output_tokens: 0, reasoning_tokens: 0, cost: 0 },
};

function countsOf(call: CallUsage, price: ModelPricing | undefined): LedgerCounts {
  const tokens = billedTokens(call);
  const cost = price === undefined ? 0 : Math.min(Math.round(costOf(tokens, price) * NANO_PER_MILLIONTH), MAX_COST);
  return {
    ...{ calls: 1, input_tokens: tokens.input, cached_input_tokens: tokens.cached, cache_write_tokens: tokens.written },
    ...{ output_tokens: tokens.output, reasoning_tokens: tokens.reasoning, cost },
  };
}
