import { EMPTY_QUEUE, type QueueState } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { parsePendingMember } from '../redis/keys.js';
import { textOrEmpty } from './unowned-threads.js';

/** Maximum number of pending threads whose leases are read, oldest first. Threads with an owner behind them count as waiting. */
const MAX_READ = 1_000;
/** Maximum number of waiting threads whose runs are read to find the longest wait, oldest first. */
const MAX_CANDIDATES = 20;

/**
 * Returns how many threads have a run that no process executes, and for how long the run that has waited longest has done
 * so: since its admission, or since the last commit of an owner that was lost. The part of the store decides whether
 * these are runs of users or tasks. Reads a bounded number of keys.
 *
 * @throws {UnavailableError} when Redis does not answer in time
 */
export async function readRunQueue(redis: RedisConnection): Promise<QueueState> {
  const { pending } = redis.keys;
  const [[seconds], count, scored] = await redis.use((client) =>
    Promise.all([client.time(), client.zcard(pending), client.zrange(pending, 0, MAX_READ - 1, 'WITHSCORES')]),
  );
  const oldest = toPendingThreads(scored);
  if (oldest.length === 0) return EMPTY_QUEUE;
  const leases = await redis.use((client) => client.mget(oldest.map(({ thread }) => redis.keys.thread(thread).lease)));
  const waiting = oldest.filter((_, index) => leases[index] === null);
  const sinceMs = await Promise.all(waiting.slice(0, MAX_CANDIDATES).map((one) => findWaitBegin(redis, one)));
  return {
    length: Math.max(0, count - oldest.length) + waiting.length,
    oldestWaitMs: Math.max(0, ...sinceMs.map((since) => Number(seconds) * 1_000 - since)),
  };
}

interface PendingThread {
  readonly thread: ThreadKey;
  /** When the thread became pending, by the clock of Redis. */
  readonly pendingMs: number;
}

const toPendingThreads = (scored: readonly string[]): readonly PendingThread[] =>
  scored.flatMap((member, index) =>
    index % 2 === 0 ? [{ thread: parsePendingMember(member), pendingMs: Number(scored[index + 1]) }] : [],
  );

/** When the thread's next run was written last. A damaged or missing record leaves the time of the thread. */
async function findWaitBegin(redis: RedisConnection, { thread, pendingMs }: PendingThread): Promise<number> {
  const { record, inbox } = redis.keys.thread(thread);
  const [current, queued] = await redis.use((client) =>
    Promise.all([textOrEmpty(client.hget(record, 'current')), textOrEmpty(client.lindex(inbox, 0))]),
  );
  const runId = current || queued;
  if (runId === '') return pendingMs;
  const run = redis.keys.runPrefix(thread.userId) + runId;
  const updatedMs = Date.parse(await redis.use((client) => textOrEmpty(client.hget(run, 'updated_at'))));
  return Number.isNaN(updatedMs) ? pendingMs : updatedMs;
}
