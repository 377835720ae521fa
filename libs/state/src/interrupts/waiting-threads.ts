import type { ThreadKey } from '@caribou/core';
import type { WaitingThread, WaitingThreads } from '../ports/waiting-threads.js';
import type { RedisConnection } from '../redis/connection.js';
import { interruptedParams } from '../redis/interrupted-params.js';
import { parsePendingMember, pendingMember } from '../redis/keys.js';
import { loadScript } from '../redis/scripts.js';
import { callThread } from '../redis/thread-call.js';

const scripts = { refresh: loadScript('interrupts/refresh-interrupted'), due: loadScript('interrupts/due-interrupts') };

/** The lists of threads that wait for answers: sorted sets, which the scripts that end a run write. */
export function redisWaitingThreads(redis: RedisConnection): WaitingThreads {
  const listed = (userId: string | undefined) =>
    userId === undefined
      ? { key: redis.keys.interruptsWaiting, memberOf: pendingMember, threadOf: parsePendingMember }
      : {
          key: redis.keys.interrupted(userId),
          memberOf: ({ threadId }: ThreadKey) => threadId,
          threadOf: (threadId: string) => ({ userId, threadId }),
        };
  return {
    list: async ({ userId, limit, after }) => {
      const { key, memberOf, threadOf } = listed(userId);
      const from = after === undefined ? 0 : await rankAfter(redis, key, { after, member: memberOf(after) });
      const flat = await redis.use((client) => client.zrange(key, from, from + limit - 1, 'WITHSCORES'));
      return flat.flatMap((member, at) =>
        at % 2 === 0 ? [{ ...threadOf(member), sinceMs: Number(flat[at + 1]) }] : [],
      );
    },
    refresh: async (thread) => {
      const [, open] = await callThread(redis, thread, scripts.refresh, { params: interruptedParams(redis, thread) });
      return Number(open);
    },
    listDue: async ({ skip, limit }) => {
      const reply = (await redis.run(scripts.due, [redis.keys.interruptsDue], [skip, limit])) as string[];
      const [nowMs, ...members] = reply;
      return { nowMs: Number(nowMs), threads: members.map(parsePendingMember) };
    },
  };
}

/** The rank after an entry, or, when that is gone, of the first one that is newer. */
async function rankAfter(
  redis: RedisConnection,
  key: string,
  { after, member }: { readonly after: WaitingThread; readonly member: string },
): Promise<number> {
  const [rank, score] = await redis.use((client) =>
    Promise.all([client.zrank(key, member), client.zscore(key, member)]),
  );
  if (rank !== null && Number(score) === after.sinceMs) return rank + 1;
  return redis.use((client) => client.zcount(key, '-inf', after.sinceMs));
}
