import type { ThreadKey } from '@caribou/core';
import type { UnownedThread } from '../ports/run-store.js';
import { processOf } from '../processes/process-registry.js';
import type { RedisConnection } from '../redis/connection.js';
import { parsePendingMember } from '../redis/keys.js';

const PAGE = 200;
/** Maximum number of pending threads read in one call; more than all runners of a system can own at once. */
const MAX_SCANNED = 25_000;

/** How many threads of all users have a run that waits or is under way. @throws {UnavailableError} */
export const countPendingThreads = (redis: RedisConnection): Promise<number> =>
  redis.use((client) => client.zcard(redis.keys.pending));

/** Lists threads of the pending set without a live lease, oldest first from a rank on, at most `limit`. */
export async function listUnowned(redis: RedisConnection, limit: number, from = 0): Promise<readonly UnownedThread[]> {
  const unowned: UnownedThread[] = [];
  for (let rank = from; rank < from + MAX_SCANNED && unowned.length < limit; rank += PAGE) {
    const members = await redis.use((client) => client.zrange(redis.keys.pending, rank, rank + PAGE - 1));
    if (members.length > 0) unowned.push(...(await filterUnowned(redis, members.map(parsePendingMember), rank)));
    if (members.length < PAGE) break;
  }
  return unowned.slice(0, limit);
}

/** Lists threads of the pending set whose leases name one of the processes, at most `limit`. */
export async function listOrphans(
  redis: RedisConnection,
  processes: readonly string[],
  limit: number,
): Promise<readonly UnownedThread[]> {
  const dead = new Set(processes);
  const orphans: UnownedThread[] = [];
  for (let rank = 0; rank < MAX_SCANNED && orphans.length < limit; rank += PAGE) {
    const members = await redis.use((client) => client.zrange(redis.keys.pending, rank, rank + PAGE - 1));
    if (members.length === 0) break;
    const threads = members.map(parsePendingMember);
    const owners = await redis.use((client) => client.mget(threads.map((thread) => redis.keys.thread(thread).lease)));
    for (const [index, thread] of threads.entries())
      if (dead.has(processOf(owners[index] ?? '') ?? ''))
        orphans.push({ ...thread, interrupted: true, rank: rank + index });
  }
  return orphans.slice(0, limit);
}

async function filterUnowned(
  redis: RedisConnection,
  threads: readonly ThreadKey[],
  firstRank: number,
): Promise<readonly UnownedThread[]> {
  const leases = await redis.use((client) => client.mget(threads.map((thread) => redis.keys.thread(thread).lease)));
  const found = threads.flatMap((thread, index) =>
    leases[index] === null ? [{ thread, rank: firstRank + index }] : [],
  );
  const current = await redis.use((client) =>
    Promise.all(found.map(({ thread }) => textOrEmpty(client.hget(redis.keys.thread(thread).record, 'current')))),
  );
  return found.map(({ thread, rank }, index) => ({ ...thread, interrupted: current[index] !== '', rank }));
}

/**
 * The text, or '' when the key does not exist or has the wrong type. A wrong type is not an error here: the claim of the
 * thread reports it.
 */
export async function textOrEmpty(text: Promise<string | null>): Promise<string> {
  try {
    return (await text) ?? '';
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return '';
    throw error;
  }
}
