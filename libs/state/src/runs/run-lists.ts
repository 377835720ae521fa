import { isTerminal, NotFoundError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore } from '../ports/thread-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { MAX_READ_BYTES, readHashes } from '../redis/read-hashes.js';
import { summaryOf } from './run-codec.js';
import { noRun, readRun } from './run-records.js';

/** Records read in one round trip. */
const PAGE = 100;

/** Runs of a user, and runs of a thread in the order of their admission. */
export function runLists(
  redis: RedisConnection,
): Pick<ThreadStore, 'findRun' | 'runsInFlight' | 'runsAfter' | 'followFrom'> {
  return {
    findRun: async (userId, runId) => {
      const run = await readRun(redis, userId, runId);
      if (run === null) throw noRun(runId);
      return run;
    },

    runsInFlight: async (userId) => {
      const { inFlight } = redis.keys.thread({ userId, threadId: 'any' });
      const prefix = redis.keys.runPrefix(userId);
      const keys = (await redis.use((client) => client.smembers(inFlight))).map((runId) => prefix + runId);
      const found: (readonly unknown[])[] = [];
      // A reply may hold fewer records than were asked for.
      while (found.length < keys.length)
        found.push(...(await readHashes(redis, keys.slice(found.length, found.length + PAGE), MAX_READ_BYTES)));
      return found
        .filter((flat) => flat.length > 0)
        .map(summaryOf)
        .filter(({ status }) => !isTerminal(status));
    },

    runsAfter: async (thread, admittedUs, limit) => {
      const keys = redis.keys.thread(thread);
      const [known, found] = await redis.use((client) =>
        Promise.all([
          client.hmget(keys.record, 'created_at', 'ended'),
          client.zrangebyscore(keys.runs, `(${admittedUs}`, '+inf', 'WITHSCORES', 'LIMIT', 0, limit),
        ]),
      );
      assertListed(thread, known);
      return pairsOf(found);
    },

    followFrom: async (thread) => {
      const keys = redis.keys.thread(thread);
      // The newest run is read before those in flight: one that is admitted in between is then among the latter.
      const [known, newest, queued, current] = await redis.use((client) =>
        Promise.all([
          client.hmget(keys.record, 'created_at', 'ended'),
          client.zrevrange(keys.runs, 0, 0, 'WITHSCORES'),
          client.lrange(keys.inbox, 0, 0),
          client.hget(keys.record, 'current'),
        ]),
      );
      assertListed(thread, known);
      const oldest = current === null || current === '' ? queued[0] : current;
      const score = oldest === undefined ? null : await redis.use((client) => client.zscore(keys.runs, oldest));
      if (score !== null) return Number(score) - 1;
      return pairsOf(newest)[0]?.admittedUs ?? 0;
    },
  };
}

const pairsOf = (flat: readonly string[]): { runId: string; admittedUs: number }[] =>
  flat.flatMap((runId, index) => (index % 2 === 0 ? [{ runId, admittedUs: Number(flat[index + 1]) }] : []));

function assertListed({ threadId }: ThreadKey, [createdAt, ended]: readonly (string | null)[]): void {
  if (createdAt === null || createdAt === undefined || ended !== null)
    throw new NotFoundError(`Thread ${threadId} does not exist`, { details: { threadId } });
}
