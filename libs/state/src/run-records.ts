import { ConflictError, NotFoundError, type RunRecord } from '@caribou/contracts';
import type { RunQuery, ThreadKey, ThreadStore } from '@caribou/core';
import type { RedisConnection } from './connection.js';
import { runOf } from './run-codec.js';
import { loadScript } from './scripts.js';
import { callThread } from './thread-call.js';

const deleteScript = loadScript('delete-run');

/** Run ids read in one round trip. */
const PAGE = 100;
/** Most runs looked through for one list. */
const MAX_SCANNED = 10_000;

const noRun = (runId: string): NotFoundError =>
  new NotFoundError(`Run ${runId} does not exist`, { details: { runId } });

export function runRecords(redis: RedisConnection): Pick<ThreadStore, 'getRun' | 'listRuns' | 'deleteRun'> {
  async function readRuns(userId: string, runIds: readonly string[]): Promise<RunRecord[]> {
    const prefix = redis.keys.runPrefix(userId);
    const hashes = await redis.use((client) => Promise.all(runIds.map((runId) => client.hgetall(prefix + runId))));
    return hashes
      .map((hash) => Object.entries(hash).flat())
      .filter((flat) => flat.length > 0)
      .map(runOf);
  }

  async function getRun(thread: ThreadKey, runId: string): Promise<RunRecord> {
    const [run] = await readRuns(thread.userId, [runId]);
    if (run === undefined || run.thread_id !== thread.threadId) throw noRun(runId);
    return run;
  }

  async function listRuns(thread: ThreadKey, query: RunQuery): Promise<readonly RunRecord[]> {
    const keys = redis.keys.thread(thread);
    const known = await redis.use((client) => client.hmget(keys.record, 'created_at', 'ended'));
    if (known[0] === null || known[1] !== null) throw new NotFoundError(`Thread ${thread.threadId} does not exist`);
    const wanted = query.offset + query.limit;
    const found: RunRecord[] = [];
    for (let from = 0; from < MAX_SCANNED && found.length < wanted; from += PAGE) {
      const ids = await redis.use((client) => client.zrevrange(keys.runs, from, from + PAGE - 1));
      const runs = await readRuns(thread.userId, ids);
      found.push(...runs.filter((run) => query.status === undefined || run.status === query.status));
      if (ids.length < PAGE) break;
    }
    return found.slice(query.offset, wanted);
  }

  async function deleteRun(thread: ThreadKey, runId: string): Promise<void> {
    const [outcome] = await callThread(redis, thread, deleteScript, { params: { run: runId } });
    if (outcome === 'no_run') throw noRun(runId);
    if (outcome === 'in_flight')
      throw new ConflictError('the run is in flight: cancel it first', { details: { runId } });
  }

  return { getRun, listRuns, deleteRun };
}
