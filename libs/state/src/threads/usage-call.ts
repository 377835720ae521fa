import type { CallUsage, TurnUsage } from '@caribou/core';

/** Maximum number of tokens counted of one call: a provider may report any number, and sums must stay safe integers. */
const MAX_TOKENS = 1e12;
/** Longest name a model is counted under, in UTF-16 code units. */
const MAX_NAME = 200;

/** Parameter `usage` of `includes/usage.lua`. */
export function usageParams({ turns, calls }: TurnUsage): Readonly<Record<string, unknown>> {
  return {
    turns,
    input: sumOf(calls, ({ inputTokens }) => wholeTokens(inputTokens)),
    output: sumOf(calls, ({ outputTokens }) => wholeTokens(outputTokens)),
    callers: tokensBy(calls, ({ caller }) => caller),
    models: tokensBy(calls, ({ model }) => model.slice(0, MAX_NAME)),
  };
}

const tokensBy = (calls: readonly CallUsage[], nameOf: (call: CallUsage) => string): [name: string, tokens: number][] =>
  [...new Set(calls.map(nameOf))].map((name) => [
    name,
    sumOf(
      calls.filter((call) => nameOf(call) === name),
      (call) => wholeTokens(call.inputTokens) + wholeTokens(call.outputTokens),
    ),
  ]);

const sumOf = (calls: readonly CallUsage[], tokensOf: (call: CallUsage) => number): number =>
  calls.reduce((sum, call) => sum + tokensOf(call), 0);

const wholeTokens = (tokens: number): number =>
  Number.isFinite(tokens) ? Math.min(Math.max(Math.round(tokens), 0), MAX_TOKENS) : 0;
