import { InvalidRequestError, omitUndefined } from '@caribou/contracts';
import { z } from 'zod';
import type { LedgerRow, UsageLedger } from '../ports/usage-ledger.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import type { LedgerSettings } from '../redis/store-settings.js';
import { budgetStateOf } from './budget-state.js';
import { isBudgetSpent } from './is-budget-spent.js';
import { ledgerRows } from './ledger-rows.js';
import { ledgerParams } from './usage-call.js';

const addUsage = loadScript('usage/add-usage');

/** Users of all days that one reading of all users may have. */
const MAX_USER_DAYS = 5_000;
/** Days that may be stored: the longest retention, today and tomorrow. */
const MAX_STORED_DAYS = 402;
const DAY_MS = 86_400_000;
/** Hashes read at once. */
const BATCH = 100;

const RowKey = z.tuple([z.string(), z.string(), z.string()]);

/** The ledger in Redis; `usage/ledger.lua` describes its keys. */
export function redisUsageLedger(redis: RedisConnection, settings: LedgerSettings): UsageLedger {
  async function usersOf(days: readonly string[]): Promise<readonly (readonly [day: string, userId: string])[]> {
    const found: (readonly [string, string])[] = [];
    for (const day of days) {
      const key = `${settings.prefix}users:${day}`;
      const count = await redis.use((client) => client.scard(key));
      if (found.length + count > MAX_USER_DAYS)
        throw new InvalidRequestError(
          `from, to: the users of these days are more than ${MAX_USER_DAYS} together: ask for fewer days`,
        );
      const users = await redis.use((client) => client.smembers(key));
      found.push(...users.sort().map((userId) => [day, userId] as const));
    }
    return found;
  }

  async function rowsOf(day: string, userId: string): Promise<readonly LedgerRow[]> {
    const hash = await redis.use((client) => client.hgetall(`${settings.prefix}${userId}:${day}`));
    return Object.entries(hash).flatMap(([field, text]) => {
      const row = field.startsWith('r:') ? rowOf(field.slice(2), text) : undefined;
      return row === undefined ? [] : [{ day, userId, ...row }];
    });
  }

  return {
    add: async (payer, agent, calls) => {
      const ledger = ledgerParams(settings, ledgerRows(calls, settings.prices));
      const { userId, apiKey = '', threadId } = payer;
      const thread = threadId === undefined ? undefined : redis.keys.thread({ userId, threadId }).record;
      const params = { user: userId, api_key: apiKey, agent, ledger, ...omitUndefined({ thread }) };
      return budgetStateOf(await redis.run(addUsage, [], [JSON.stringify(params)]));
    },
    eraseUser: async (userId) => {
      const days = lastDays(MAX_STORED_DAYS);
      await redis.use((client) => client.unlink(days.map((day) => `${settings.prefix}${userId}:${day}`)));
      for (const day of days) await redis.use((client) => client.srem(`${settings.prefix}users:${day}`, userId));
    },
    isSpent: (payer) => isBudgetSpent(redis, settings, payer),
    read: async (days, userId) => {
      const hashes = userId === undefined ? await usersOf(days) : days.map((day) => [day, userId] as const);
      const rows: LedgerRow[] = [];
      for (let from = 0; from < hashes.length; from += BATCH) {
        const batch = hashes.slice(from, from + BATCH).map(([day, user]) => rowsOf(day, user));
        rows.push(...(await Promise.all(batch)).flat());
      }
      return rows;
    },
  };
}

/** The days (UTC) up to tomorrow, as the clock of Redis may be ahead. */
const lastDays = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => new Date(Date.now() + (1 - at) * DAY_MS).toISOString().slice(0, 10));

/** Decodes a row, whose counts are in the order of `LEDGER_COUNTS`; undefined for one that another version wrote. */
function rowOf(field: string, text: string): Omit<LedgerRow, 'day' | 'userId'> | undefined {
  const key = RowKey.safeParse(parseJson(field)).data;
  if (key === undefined) return undefined;
  const [apiKey, agent, model] = key;
  const [calls = 0, input = 0, cached = 0, written = 0, output = 0, reasoning = 0, cost = 0] = text
    .split(',')
    .map(Number);
  return {
    ...{ apiKey, agent, model, calls, cost },
    ...{ input_tokens: input, cached_input_tokens: cached, cache_write_tokens: written },
    ...{ output_tokens: output, reasoning_tokens: reasoning },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
