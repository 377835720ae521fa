import { isRecord } from '@caribou/contracts';
import { z } from 'zod';
import { integer } from './kinds/setting-kinds.js';

const price = z.number('must be a number').min(0, 'must not be negative').max(1_000_000, 'must be at most 1000000');

/** DeerFlow's names for prices; a key's own name takes precedence. */
const DEERFLOW_NAMES: Readonly<Record<string, string>> = {
  input_per_million: 'input',
  input_cache_hit_per_million: 'cached_input',
  output_per_million: 'output',
};

const renamed = (value: unknown): unknown =>
  isRecord(value)
    ? {
        ...Object.fromEntries(Object.entries(DEERFLOW_NAMES).map(([from, to]) => [to, value[from]])),
        ...Object.fromEntries(Object.entries(value).filter(([name]) => !Object.hasOwn(DEERFLOW_NAMES, name))),
      }
    : value;

/** `pricing` of a model. */
export const PricingFile = z.preprocess(
  renamed,
  z.strictObject({
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, 'must be three capital letters, such as USD')
      .default('USD'),
    input: price.default(0),
    cached_input: price.optional(),
    cache_write: price.optional(),
    output: price.default(0),
    reasoning: price.optional(),
  }),
);

export const UsageFile = z
  .object({
    retention_days: integer(90, 1, 400).describe('How long the usage of a day is stored'),
    user_budget_per_day: z
      .number()
      .min(0)
      .max(1_000_000_000)
      .nullable()
      .default(null)
      .describe('What the model calls of one user may cost in a day (UTC), in the currency of the prices; 0: nothing'),
    key_budget_per_day: z
      .number()
      .min(0)
      .max(1_000_000_000)
      .nullable()
      .default(null)
      .describe('What the model calls of one API key may cost in a day, which count for its user too; 0: nothing'),
    warn_share: z.number().gt(0).max(1).default(0.8).describe('Part of a budget at which a warning is logged'),
  })
  .describe('Usage of models: how long it is stored, and budgets');
