import { EMPTY_QUEUE, type QueueState } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { parsePendingMember } from '../redis/keys.js';
import { countUsers, type UserCount } from '../shared/count-users.js';
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
  const { count, oldest, waiting, nowMs } = await readPending(redis);
  if (oldest.length === 0) return EMPTY_QUEUE;
  const sinceMs = await Promise.all(waiting.slice(0, MAX_CANDIDATES).map((one) => findWaitBegin(redis, one)));
  return {
    length: Math.max(0, count - oldest.length) + waiting.length,
    oldestWaitMs: Math.max(0, ...sinceMs.map((since) => nowMs - since)),
  };
}

/** A thread with a run that no process executes. */
export interface WaitingRun extends ThreadKey {
  /** Admission of the run, or last commit of an owner that was lost. */
  readonly sinceMs: number;
  readonly waitMs: number;
}

export interface WaitingRuns extends QueueState {
  /** Threads whose run a process executes, among the 1,000 that have been pending for the longest time. */
  readonly running: number;
  /** The users with the most waiting threads. */
  readonly users: readonly UserCount[];
  /** Threads that wait, the longest wait first. */
  readonly longest: readonly WaitingRun[];
  /** Whether all pending threads were looked at. */
  readonly isWhole: boolean;
}

/**
 * The same as `readRunQueue`, with the users and the threads that wait, `maxThreads` of them.
 *
 * @throws {UnavailableError} when Redis does not answer in time
 */
export async function readWaitingRuns(redis: RedisConnection, maxThreads: number): Promise<WaitingRuns> {
  const { count, oldest, waiting, nowMs } = await readPending(redis);
  const longest = await Promise.all(
    waiting.slice(0, maxThreads).map(async (one): Promise<WaitingRun> => {
      const sinceMs = await findWaitBegin(redis, one);
      return { ...one.thread, sinceMs, waitMs: Math.max(0, nowMs - sinceMs) };
    }),
  );
  longest.sort((left, right) => left.sinceMs - right.sinceMs);
  return {
    length: Math.max(0, count - oldest.length) + waiting.length,
    oldestWaitMs: longest[0]?.waitMs ?? 0,
    running: oldest.length - waiting.length,
    users: countUsers(waiting.map(({ thread }) => thread.userId)),
    longest,
    isWhole: count <= oldest.length,
  };
}

/** The threads that have been pending for the longest time, and those of them without an owner. */
async function readPending(redis: RedisConnection) {
  const { pending } = redis.keys;
  const [[seconds], count, scored] = await redis.use((client) =>
    Promise.all([client.time(), client.zcard(pending), client.zrange(pending, 0, MAX_READ - 1, 'WITHSCORES')]),
  );
  const oldest = toPendingThreads(scored);
  const nowMs = Number(seconds) * 1_000;
  if (oldest.length === 0) return { count, oldest, waiting: [], nowMs };
  const leases = await redis.use((client) => client.mget(oldest.map(({ thread }) => redis.keys.thread(thread).lease)));
  return { count, oldest, waiting: oldest.filter((_, index) => leases[index] === null), nowMs };
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
