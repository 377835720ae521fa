import type { Payer } from '../ports/usage-ledger.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import type { LedgerSettings } from '../redis/store-settings.js';
import { budgetParams } from './usage-call.js';

const script = loadScript('usage/check-budget');

/** Whether a budget of today is used up; asks Redis only where there are budgets. */
export async function isBudgetSpent(
  redis: RedisConnection,
  { budgets: limits, prefix }: LedgerSettings,
  { userId, apiKey = '' }: Pick<Payer, 'userId' | 'apiKey'>,
): Promise<boolean> {
  const budgets = budgetParams(limits);
  if (budgets === undefined) return false;
  const params = { user: userId, api_key: apiKey, prefix, budgets };
  return (await redis.run(script, [], [JSON.stringify(params)])) === 1;
}
