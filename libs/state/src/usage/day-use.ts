import type { RedisConnection } from '../redis/connection.js';

/** What a user or an API key has used of a budget; the cost is in billionths of the currency. */
export interface BudgetUse {
  readonly name: string;
  readonly cost: number;
}

export interface DayUse {
  /** In UTC, by the clock of Redis, which decides about budgets. */
  readonly day: string;
  readonly users: number;
  /** Of these users, at most `MAX_USERS` of them. */
  readonly cost: number;
  readonly topUsers: readonly BudgetUse[];
  /** Keys of the top users. */
  readonly topKeys: readonly BudgetUse[];
}

/** Maximum number of users whose cost is read. */
const MAX_USERS = 50_000;
const BATCH = 500;

/** Reads what today's model calls of all users have cost, and who paid most. Reads one number per user. */
export async function readDayUse(redis: RedisConnection, limit: number): Promise<DayUse> {
  const { usagePrefix } = redis.keys;
  const [seconds] = await redis.use((client) => client.time());
  const day = new Date(Number(seconds) * 1_000).toISOString().slice(0, 10);
  const usersKey = `${usagePrefix}users:${day}`;
  const hashOfUser = (userId: string): string => `${usagePrefix}${userId}:${day}`;
  const users = await redis.use((client) => client.scard(usersKey));
  const read = await readCosts(redis, usersKey, hashOfUser);
  const topUsers = highest(read, limit);
  const keys = await Promise.all(topUsers.map(({ name }) => keyCosts(redis, hashOfUser(name))));
  const cost = read.reduce((sum, one) => sum + one.cost, 0);
  return { day, users, cost, topUsers, topKeys: highest(sumByName(keys.flat()), limit) };
}

async function readCosts(
  redis: RedisConnection,
  usersKey: string,
  hashOfUser: (userId: string) => string,
): Promise<readonly BudgetUse[]> {
  const costs = new Map<string, number>();
  let cursor = '0';
  do {
    const [next, names] = await redis.use((client) => client.sscan(usersKey, cursor, 'COUNT', BATCH));
    const found = await redis.use((client) => Promise.all(names.map((name) => client.hget(hashOfUser(name), 'cost'))));
    // A scan may return a member twice.
    for (const [index, name] of names.entries()) costs.set(name, Number(found[index] ?? 0));
    cursor = next;
  } while (cursor !== '0' && costs.size < MAX_USERS);
  return [...costs].map(([name, cost]) => ({ name, cost }));
}

/** The API keys of a user's hash, fields `k:<key>`. */
async function keyCosts(redis: RedisConnection, hash: string): Promise<readonly BudgetUse[]> {
  const fields = await redis.use((client) => client.hgetall(hash));
  return Object.entries(fields).flatMap(([field, cost]) =>
    field.startsWith('k:') && field.length > 2 ? [{ name: field.slice(2), cost: Number(cost) }] : [],
  );
}

function sumByName(uses: readonly BudgetUse[]): readonly BudgetUse[] {
  const sums = new Map<string, number>();
  for (const { name, cost } of uses) sums.set(name, (sums.get(name) ?? 0) + cost);
  return [...sums].map(([name, cost]) => ({ name, cost }));
}

const highest = (uses: readonly BudgetUse[], limit: number): readonly BudgetUse[] =>
  [...uses].sort((one, other) => other.cost - one.cost || (one.name < other.name ? -1 : 1)).slice(0, limit);
