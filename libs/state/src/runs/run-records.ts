import { NotFoundError, type RunRecord, RunStatus, type RunSummary } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { OrderedRun, RunQuery, ThreadStore } from '../ports/thread-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { MAX_READ_BYTES, readHashes } from '../redis/read-hashes.js';
import { runOf, summaryOf } from './run-codec.js';

/** Run ids read in one round trip. */
const PAGE = 100;
/** Maximum number of runs read for one list. */
const MAX_SCANNED = 10_000;

export const noRun = (runId: string): NotFoundError =>
  new NotFoundError(`Run ${runId} does not exist`, { details: { runId } });

/** Reads a run with its kwargs; null when it does not exist. */
export async function readRun(redis: RedisConnection, userId: string, runId: string): Promise<RunRecord | null> {
  const key = redis.keys.runPrefix(userId) + runId;
  const [hash, kwargs] = await redis.use((client) =>
    Promise.all([client.hgetall(key), client.get(redis.keys.runKwargs(userId, runId))]),
  );
  const flat = Object.entries(hash).flat();
  return flat.length === 0 ? null : runOf(flat, kwargs);
}

export function runRecords(
  redis: RedisConnection,
): Pick<ThreadStore, 'getRun' | 'runStatus' | 'listRuns' | 'newestRuns' | 'noteFollowed'> {
  /** Reads the first of these runs, as many as one page may contain. */
  async function readSummaries(userId: string, runIds: readonly string[]): Promise<RunSummary[]> {
    const prefix = redis.keys.runPrefix(userId);
    const keys = runIds.map((runId) => prefix + runId);
    const hashes = await readHashes(redis, keys, MAX_READ_BYTES);
    return hashes.filter((flat) => flat.length > 0).map(summaryOf);
  }

  async function getRun(thread: ThreadKey, runId: string): Promise<RunRecord> {
    const run = await readRun(redis, thread.userId, runId);
    if (run === null || run.thread_id !== thread.threadId) throw noRun(runId);
    return run;
  }

  async function runStatus({ userId, threadId }: ThreadKey, runId: string): Promise<RunStatus | null> {
    const key = redis.keys.runPrefix(userId) + runId;
    const [status, of] = await redis.use((client) => client.hmget(key, 'status', 'thread_id'));
    return of === threadId ? RunStatus.parse(status) : null;
  }

  async function listRuns(thread: ThreadKey, query: RunQuery): Promise<readonly RunSummary[]> {
    const keys = redis.keys.thread(thread);
    const known = await redis.use((client) => client.hmget(keys.record, 'created_at', 'ended'));
    if (known[0] === null || known[1] !== null) throw new NotFoundError(`Thread ${thread.threadId} does not exist`);
    const { offset, limit, status } = query;
    if (status !== undefined) return readSummaries(thread.userId, await idsByStatus(thread, { ...query, status }));
    const ids = await redis.use((client) => client.zrevrange(keys.runs, offset, offset + limit - 1));
    return readSummaries(thread.userId, ids);
  }

  async function idsByStatus(thread: ThreadKey, query: RunQuery): Promise<readonly string[]> {
    const prefix = redis.keys.runPrefix(thread.userId);
    const { runs } = redis.keys.thread(thread);
    const wanted = query.offset + query.limit;
    const found: string[] = [];
    for (let from = 0; from < MAX_SCANNED && found.length < wanted; from += PAGE) {
      const ids = await redis.use((client) => client.zrevrange(runs, from, from + PAGE - 1));
      const statuses = await redis.use((client) => Promise.all(ids.map((id) => client.hget(prefix + id, 'status'))));
      found.push(...ids.filter((_, index) => statuses[index] === query.status));
      if (ids.length < PAGE) break;
    }
    return found.slice(query.offset, wanted);
  }

  async function newestRuns(thread: ThreadKey, limit: number): Promise<readonly OrderedRun[]> {
    const { runs } = redis.keys.thread(thread);
    const prefix = redis.keys.runPrefix(thread.userId);
    const [ids, count] = await redis.use((client) =>
      Promise.all([client.zrevrange(runs, 0, limit - 1), client.zcard(runs)]),
    );
    const records = await redis.use((client) =>
      Promise.all(ids.map((id) => client.hmget(prefix + id, 'status', 'ordinal'))),
    );
    return ids.flatMap((runId, index) => {
      const [status, ordinal] = records[index] ?? [];
      if (status === null || status === undefined) return [];
      // A delayed run gets its number at its time.
      if (ordinal === '0') return [];
      // Runs that an earlier version admitted have no number; numbers begin after them.
      return [{ runId, ordinal: Number(ordinal ?? count - index), status: RunStatus.parse(status) }];
    });
  }

  async function noteFollowed(thread: ThreadKey, forMs: number): Promise<number> {
    const { record } = redis.keys.thread(thread);
    const [, admitted] = await redis.use((client) =>
      Promise.all([client.set(redis.keys.followed(thread), '', 'PX', forMs), client.hget(record, 'admitted')]),
    );
    return Number(admitted ?? 0);
  }

  return { getRun, runStatus, listRuns, newestRuns, noteFollowed };
}
