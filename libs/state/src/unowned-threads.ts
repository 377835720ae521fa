import type { ThreadKey } from '@caribou/core';
import type { RedisConnection } from './connection.js';
import { parsePendingMember } from './keys.js';

const PAGE = 200;
/** Most pending threads looked at in one call: beyond it the sweep finds them once older ones are done. */
const MAX_SCANNED = 10_000;

/** Threads of the pending set without a live lease, oldest first, at most `limit`. */
export async function listUnowned(redis: RedisConnection, limit: number): Promise<readonly ThreadKey[]> {
  const unowned: ThreadKey[] = [];
  for (let from = 0; from < MAX_SCANNED && unowned.length < limit; from += PAGE) {
    const members = await redis.use((client) => client.zrange(redis.keys.pending, from, from + PAGE - 1));
    if (members.length === 0) break;
    const threads = members.map(parsePendingMember);
    const leases = await redis.use((client) => client.mget(threads.map((thread) => redis.keys.thread(thread).lease)));
    unowned.push(...threads.filter((_, index) => leases[index] === null));
    if (members.length < PAGE) break;
  }
  return unowned.slice(0, limit);
}
