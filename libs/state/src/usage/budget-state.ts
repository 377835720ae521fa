import { RateLimitedError } from '@caribou/contracts';
import type { BudgetState } from '../ports/usage-ledger.js';
import type { Reply } from '../redis/thread-call.js';
import type { StoreSettings } from '../redis/store-settings.js';

/** What `usage/ledger.lua` said. */
export const budgetStateOf = (text: unknown): BudgetState => (text === 'warn' || text === 'spent' ? text : 'fine');

const DAY_MS = 86_400_000;

/** The error for a run that a budget refuses, until the end of the day (UTC). */
export function budgetSpent([, name, cost, limit, nowMs]: Reply, { ledger }: StoreSettings): RateLimitedError {
  const setting = name === 'key' ? 'usage.key_budget_per_day' : 'usage.user_budget_per_day';
  const owner = name === 'key' ? 'this API key' : 'your account';
  const [currency = ''] = [...(ledger?.prices.values() ?? [])].map((price) => `${price.currency} `);
  return new RateLimitedError(
    `the budget of today for ${owner} is used up: ${currency}${amount(cost)} of ${amount(limit)} (${setting})`,
    { details: { refusal: 'budget', retryAfterMs: DAY_MS - (Number(nowMs) % DAY_MS) } },
  );
}

const amount = (nano: unknown): string => String(Math.round(Number(nano) / 1_000) / 1_000_000);
