import type { ModelPricing } from '@caribou/config';
import type { CallUsage } from '@caribou/core';
import type { LedgerCounts, Prices } from '../ports/usage-ledger.js';

/** The order of the counts in a row. */
const LEDGER_COUNTS = [
  ...(['calls', 'input_tokens', 'cached_input_tokens', 'cache_write_tokens'] as const),
  ...(['output_tokens', 'reasoning_tokens', 'cost'] as const),
] as const satisfies readonly (keyof LedgerCounts)[];

/** Billionths of the currency in a millionth, as prices are of a million tokens. */
const NANO_PER_TOKEN = 1_000;
/** Sums of a day must stay safe integers: a thousand times this. */
const MAX_COST = 9e12;

/** The counts of a model's calls in a commit: `[model, …counts]` in the order of `LEDGER_COUNTS`. */
export function ledgerRows(
  calls: readonly CallUsage[],
  prices: Prices,
  whole: (tokens: number) => number,
): readonly (readonly [model: string, ...counts: number[]])[] {
  const rows = new Map<string, LedgerCounts>();
  // Tasks enter their calls themselves, with each of their commits.
  for (const call of calls.filter(({ caller }) => caller !== 'subagent')) {
    const counts = countsOf(call, prices.get(call.model), whole);
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

function countsOf(call: CallUsage, price: ModelPricing | undefined, whole: (tokens: number) => number): LedgerCounts {
  const [input, output] = [whole(call.inputTokens), whole(call.outputTokens)];
  const cached = Math.min(whole(call.cachedInputTokens ?? 0), input);
  const written = Math.min(whole(call.cacheWriteTokens ?? 0), input - cached);
  const reasoning = Math.min(whole(call.reasoningTokens ?? 0), output);
  const cost =
    price === undefined
      ? 0
      : cached * price.cachedInput +
        written * price.cacheWrite +
        (input - cached - written) * price.input +
        reasoning * price.reasoning +
        (output - reasoning) * price.output;
  return {
    ...{ calls: 1, input_tokens: input, cached_input_tokens: cached, cache_write_tokens: written },
    ...{
      output_tokens: output,
      reasoning_tokens: reasoning,
      cost: Math.min(Math.round(cost * NANO_PER_TOKEN), MAX_COST),
    },
  };
}
