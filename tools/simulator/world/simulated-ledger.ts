import { ledgerSettings, type RedisConnection } from '@caribou/state';

/** Longer than any history. */
const RETENTION_DAYS = 400;

/** The ledger; `redis` is the connection of threads, not of tasks. */
export const simulatedLedger = (redis: RedisConnection) =>
  ledgerSettings(redis, {
    models: [],
    usage: { retentionDays: RETENTION_DAYS, userBudgetPerDay: null, keyBudgetPerDay: null, warnShare: 1 },
  });
