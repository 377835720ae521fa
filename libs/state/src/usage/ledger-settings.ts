import type { Config } from '@caribou/config';
import type { RedisConnection } from '../redis/connection.js';
import type { LedgerSettings } from '../redis/store-settings.js';

/** The settings of the ledger; `redis` is the connection of threads, not of tasks, as they enter theirs there too. */
export const ledgerSettings = (
  { keys }: Pick<RedisConnection, 'keys'>,
  { models, usage }: Pick<Config, 'models' | 'usage'>,
): LedgerSettings => ({
  prefix: keys.usagePrefix,
  prices: new Map(models.flatMap(({ name, pricing }) => (pricing === undefined ? [] : [[name, pricing] as const]))),
  retentionDays: usage.retentionDays,
  budgets: { user: usage.userBudgetPerDay, key: usage.keyBudgetPerDay, warnShare: usage.warnShare },
});
