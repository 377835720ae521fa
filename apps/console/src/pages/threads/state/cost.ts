import type { ModelReply } from '@caribou/contracts';
import type { Usage } from './items.js';

export type Pricing = NonNullable<ModelReply['pricing']>;
type PricedModel = Pick<ModelReply, 'name' | 'model' | 'pricing'>;

/** What providers add to the name of a model in their answers: `gpt-4o-2024-08-06`, `claude-sonnet-4-5-20250929`. */
const DATE = /^[-@](\d{8}|\d{4}-\d{2}-\d{2})$/;

/**
 * The prices of the model that gave an answer. Undefined when it has none, and when several models may have given it whose prices
 * differ, so that no wrong amount is shown.
 *
 * @param answered what the answer says of its model: a configured name, or the provider's, maybe with a date
 */
export function pricingOf(models: readonly PricedModel[], answered: string | undefined): Pricing | undefined {
  if (answered === undefined) return undefined;
  const exact = models.filter(({ name, model }) => name === answered || model === answered);
  const found = exact.length > 0 ? exact : models.filter(({ model }) => isDated(answered, model));
  const [first, ...others] = found.map(({ pricing }) => pricing);
  if (first === undefined || first === null) return undefined;
  return others.every((other) => other !== null && haveSamePrices(first, other)) ? first : undefined;
}

const isDated = (answered: string, model: string): boolean =>
  answered.startsWith(model) && DATE.test(answered.slice(model.length));

const PRICES = ['currency', 'input', 'cached_input', 'cache_write', 'output', 'reasoning'] as const;
const haveSamePrices = (one: Pricing, other: Pricing): boolean => PRICES.every((name) => one[name] === other[name]);

/**
 * What an answer itself cost, without its subagents, in the currency of the prices. Each token has the price of its part; parts
 * that a provider reports as more than the whole are cut, as the server does. Undefined when no token of its own was reported.
 */
export function costOf(usage: Usage, pricing: Pricing): number | undefined {
  const input = whole(usage.input - usage.subagents.input);
  const output = whole(usage.output - usage.subagents.output);
  if (input + output === 0) return undefined;
  const cached = Math.min(whole(usage.cached), input);
  const written = Math.min(whole(usage.written), input - cached);
  const reasoning = Math.min(whole(usage.reasoning), output);
  const millionths =
    cached * pricing.cached_input +
    written * pricing.cache_write +
    (input - cached - written) * pricing.input +
    reasoning * pricing.reasoning +
    (output - reasoning) * pricing.output;
  return millionths / 1e6;
}

const whole = (tokens: number): number => (Number.isFinite(tokens) ? Math.max(0, Math.round(tokens)) : 0);
