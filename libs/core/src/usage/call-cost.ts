import type { CallUsage } from './call-usage.js';

/** Prices of a million tokens. */
export interface TokenPrices {
  /** ISO 4217. */
  readonly currency: string;
  readonly input: number;
  /** Of input that the provider had in its cache. */
  readonly cachedInput: number;
  /** Of input that the provider put into its cache. */
  readonly cacheWrite: number;
  readonly output: number;
  /** Of output that is reasoning. */
  readonly reasoning: number;
}

/** Whole tokens of a call: `cached` and `written` are parts of `input`, `reasoning` is a part of `output`. */
export interface BilledTokens {
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
  readonly reasoning: number;
}

/** Maximum number of tokens counted of one call: a provider may report any number, and sums must stay safe integers. */
const MAX_TOKENS = 1e12;

/** The tokens as a whole number within bounds. */
export const wholeTokens = (tokens: number): number =>
  Number.isFinite(tokens) ? Math.min(Math.max(Math.round(tokens), 0), MAX_TOKENS) : 0;

/** The tokens of a call; parts that the provider reports as more than the whole are cut. */
export function billedTokens(call: CallUsage): BilledTokens {
  const [input, output] = [wholeTokens(call.inputTokens), wholeTokens(call.outputTokens)];
  const cached = Math.min(wholeTokens(call.cachedInputTokens ?? 0), input);
  const written = Math.min(wholeTokens(call.cacheWriteTokens ?? 0), input - cached);
  return { input, cached, written, output, reasoning: Math.min(wholeTokens(call.reasoningTokens ?? 0), output) };
}

/** What the tokens cost, in millionths of the currency. Each token has one price: that of its part. */
export const costOf = (
  { input, cached, written, output, reasoning }: BilledTokens,
  price: Omit<TokenPrices, 'currency'>,
): number =>
  cached * price.cachedInput +
  written * price.cacheWrite +
  (input - cached - written) * price.input +
  reasoning * price.reasoning +
  (output - reasoning) * price.output;
